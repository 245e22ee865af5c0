"""Rules in CEL of what a field holds together, as the definitions bear them, and what each of them means to an API that knows no CEL."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from events.json_object import JsonObject, objects_at
from ops.production.crds.schema_paths import changed_at
from services.validation.kinds.definition_bounds import PRIORITY_CLASSES


class Rule(msgspec.Struct, frozen=True):
    """An expression that has to be true of a field, what is told where it is not, and the same of a value and of what it was before."""

    rule: str
    message: str
    means: Callable[[Any, Any], bool]


def _each(text: str, message: str, means: Callable[[JsonObject], bool]) -> Rule:
    """A rule for all entries of a list."""
    return Rule(f"self.all(one, {text})", message, lambda value, _: all(means(one) for one in value))


def _limits(spec: JsonObject) -> Iterator[bool]:
    """Of each resource of a queue, whether there is a limit to what it borrows of it."""
    for group in objects_at(spec, "resourceGroups"):
        for flavor in objects_at(group, "flavors"):
            yield from (one.get("borrowingLimit") is not None for one in objects_at(flavor, "resources"))


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SHOWN = ", ".join(f"'{one}'" for one in _EFFECTS)
_TAINTS = (
    _each(f"one.effect in [{_SHOWN}]", "a taint has one of the three effects", lambda one: one["effect"] in _EFFECTS),
)
_TOLERATIONS = (
    _each(
        "(has(one.key) && one.key != '') || (has(one.operator) && one.operator == 'Exists')",
        "without a key the operator has to be Exists",
        lambda one: bool(one.get("key")) or one.get("operator") == "Exists",
    ),
    _each(
        "!has(one.tolerationSeconds) || (has(one.effect) && one.effect == 'NoExecute')",
        "tolerationSeconds need the effect NoExecute",
        lambda one: one.get("tolerationSeconds") is None or one.get("effect") == "NoExecute",
    ),
    _each(
        "!has(one.operator) || one.operator in ['', 'Equal', 'Exists']",
        "the operator is Equal or Exists",
        lambda one: one.get("operator", "") in ("", "Equal", "Exists"),
    ),
    _each(
        "!has(one.operator) || one.operator != 'Exists' || !has(one.value) || one.value == ''",
        "operator Exists takes no value",
        lambda one: one.get("operator") != "Exists" or not one.get("value"),
    ),
    _each(
        f"!has(one.effect) || one.effect in ['', {_SHOWN}]",
        "a toleration has one of the three effects, or none",
        lambda one: one.get("effect", "") in ("", *_EFFECTS),
    ),
)
_TOPOLOGY = (
    Rule(
        "!has(self.topologyName) || self.topologyName == '' || (has(self.nodeLabels) && size(self.nodeLabels) > 0)",
        "a flavor with a topology needs at least one of nodeLabels",
        lambda spec, _: not spec.get("topologyName") or bool(spec.get("nodeLabels")),
    ),
    Rule(
        "!has(oldSelf.topologyName) || oldSelf.topologyName == ''"
        " || (has(self.topologyName) && self.topologyName == oldSelf.topologyName)",
        "topologyName can't be changed once it is set",
        lambda spec, old: not (old or {}).get("topologyName") or spec.get("topologyName") == old["topologyName"],
    ),
)
_CLASS = tuple(
    Rule(
        f"self.group != '{group}' || self.kind == '{kind}'",
        f"{group} has classes of its own kind: {kind}",
        lambda found, _, group=group, kind=kind: found.get("group") != group or found.get("kind") == kind,
    )
    for group, kind in PRIORITY_CLASSES.items()
)
_PRIORITY = Rule(
    "!has(self.priorityClassRef) || has(self.priority)",
    "who is in a priority class needs its priority",
    lambda spec, _: spec.get("priorityClassRef") is None or spec.get("priority") is not None,
)
_FEWER = Rule(
    "!has(self.minCount) || self.minCount <= self.count",
    "minCount is at most count",
    lambda one, _: one.get("minCount") is None or one["minCount"] <= one["count"],
)
_ONE_SOURCE = Rule(
    "has(self.kubeConfig) != has(self.clusterProfileRef)",
    "it is reached by one of kubeConfig and clusterProfileRef",
    lambda one, _: (one.get("kubeConfig") is None) != (one.get("clusterProfileRef") is None),
)
_CLUSTERS = Rule(
    "self.all(one, self.exists_one(other, other == one))",
    "each cluster once",
    lambda names, _: len(set(names)) == len(names),
)
_COVERED = Rule(
    "self.flavors.all(one, size(one.resources) == size(self.coveredResources))",
    "a flavor has quota for the resources that its group covers",
    lambda group, _: all(len(one["resources"]) == len(group["coveredResources"]) for one in group["flavors"]),
)
_BORROWING = Rule(
    "(has(self.cohortName) && self.cohortName != '') || !has(self.resourceGroups)"
    " || self.resourceGroups.all(group, group.flavors.all(flavor, flavor.resources.all(one, !has(one.borrowingLimit))))",
    "there is no borrowingLimit without a cohort",
    lambda spec, _: bool(spec.get("cohortName")) or not any(_limits(spec)),
)
FIELD_RULES: Mapping[str, Mapping[str, tuple[Rule, ...]]] = {
    "ClusterQueue": {"spec": (_BORROWING,), "spec.resourceGroups[]": (_COVERED,)},
    "Cohort": {"spec.resourceGroups[]": (_COVERED,)},
    "MultiKueueCluster": {"spec.clusterSource": (_ONE_SOURCE,)},
    "MultiKueueConfig": {"spec.clusters": (_CLUSTERS,)},
    "ResourceFlavor": {"spec": _TOPOLOGY, "spec.nodeTaints": _TAINTS, "spec.tolerations": _TOLERATIONS},
    "Workload": {"spec": (_PRIORITY,), "spec.priorityClassRef": _CLASS, "spec.podSets[]": (_FEWER,)},
}
"""By kind and path, `[]` for the entries of a list."""
FIELD_MEANINGS = {one.rule: one.means for paths in FIELD_RULES.values() for rules in paths.values() for one in rules}


def with_field_rules(kind: str, schema: JsonObject) -> JsonObject:
    """A schema with the rules of its kind."""
    for path, rules in FIELD_RULES.get(kind, {}).items():
        schema = changed_at(schema, path, partial(_ruled, rules=rules))
    return schema


def _ruled(schema: JsonObject, rules: tuple[Rule, ...]) -> JsonObject:
    added = [{"rule": one.rule, "message": one.message} for one in rules]
    return {**schema, "x-kubernetes-validations": [*schema.get("x-kubernetes-validations", ()), *added]}
