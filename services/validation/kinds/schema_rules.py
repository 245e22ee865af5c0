"""Rules that the definitions themselves carry, beside those of the webhooks: sizes, and fields that need each other."""

from collections.abc import Callable

from events.json_object import JsonMapping, array_at, object_at, objects_at
from services.validation.fields.names import why_not_qualified
from services.validation.kinds.cohort import own_parent_problems
from services.validation.kinds.flavor import topology_problems
from services.validation.problem import Problem, duplicate, invalid, required

HOSTNAME = "kubernetes.io/hostname"


def schema_rule_problems(value: JsonMapping) -> list[Problem]:
    """What the definition of the object's kind refuses by rule (docs/rules/objects.md#validation)."""
    rule = _RULES.get(str(value.get("kind")))
    return rule(value) if rule is not None else []


def _resource_counts(value: JsonMapping) -> list[Problem]:
    found: list[Problem] = []
    for i, group in enumerate(objects_at(value, "spec", "resourceGroups")):
        covered = list(array_at(group, "coveredResources"))
        for j, flavor in enumerate(objects_at(group, "flavors")):
            field = f"spec.resourceGroups[{i}].flavors[{j}].resources"
            names = [one.get("name") for one in objects_at(flavor, "resources")]
            extra = [name for name in names if name not in covered]
            missing = [name for name in covered if name not in names]
            if missing:
                found.append(
                    Problem(
                        field=field,
                        code="FlavorOmitsResource",
                        what=f"flavor {flavor.get('name')} does not mention {', '.join(missing)}, which the group covers",
                        consequence="Kueue refuses it: each flavor lists the same resources in the same order",
                        instead="; ".join(f"- name: {name} with its nominalQuota" for name in missing),
                    )
                )
            found.extend(
                Problem(
                    field=f"{field}[{names.index(name)}].name",
                    code="ResourceNotCovered",
                    what=f"flavor {flavor.get('name')} has quota for {name}, which coveredResources does not list",
                    consequence="Kueue refuses it: each flavor lists the resources of its group",
                    instead=f"{name} in coveredResources, or no quota for it",
                )
                for name in extra
            )
    return found


def _cohort(value: JsonMapping) -> list[Problem]:
    return [*_resource_counts(value), *own_parent_problems(value)]


def _local_queue(value: JsonMapping) -> list[Problem]:
    if object_at(value, "spec").get("clusterQueue"):
        return []
    return [required("spec.clusterQueue", "a LocalQueue has to name its ClusterQueue", "clusterQueue: <name>")]


def _topology(value: JsonMapping) -> list[Problem]:
    levels = [str(one.get("nodeLabel")) for one in objects_at(value, "spec", "levels")]
    found: list[Problem] = []
    if not levels:
        found.append(
            required("spec.levels", "a topology has levels", "one node label for each level, the widest first")
        )
    for index, label in enumerate(levels):
        field = f"spec.levels[{index}].nodeLabel"
        why = why_not_qualified(label)
        if why:
            found.append(invalid(field, label, "; ".join(why), "a label of nodes, such as topology.kubernetes.io/zone"))
        if label in levels[:index]:
            found.append(duplicate(field, label, "each label once"))
        if label == HOSTNAME and index < len(levels) - 1:
            found.append(invalid(field, label, f"{HOSTNAME} above other levels", "the host as the last level"))
    return found


def twice_named(value: JsonMapping) -> list[Problem]:
    """Pod sets that have the name of another one: what is told of one of them would be told of both."""
    names = [str(one.get("name", "main")) for one in objects_at(value, "spec", "podSets")]
    return [
        duplicate(f"spec.podSets[{index}].name", name, "a name for each pod set")
        for index, name in enumerate(names)
        if name in names[:index]
    ]


def _workload(value: JsonMapping) -> list[Problem]:
    found = twice_named(value)
    for index, one in enumerate(objects_at(value, "spec", "podSets")):
        least, count = one.get("minCount"), one.get("count", 1)
        if least is not None and least > count:
            field = f"spec.podSets[{index}].minCount"
            found.append(invalid(field, least, f"minCount {least} is more than count {count}", f"at most {count}"))
    return found


_RULES: dict[str, Callable[[JsonMapping], list[Problem]]] = {
    "ClusterQueue": _resource_counts,
    "Cohort": _cohort,
    "LocalQueue": _local_queue,
    "ResourceFlavor": topology_problems,
    "Topology": _topology,
    "Workload": _workload,
}
