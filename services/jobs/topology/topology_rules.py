"""Which topology annotations of pod templates are refused, in Kueue's words.

Rule: docs/rules/topology.md#refused-annotations
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from events.api.labels import (
    POD_INDEX_OFFSET,
    PODSET_GROUP_NAME,
    PODSET_PREFERRED_TOPOLOGY,
    PODSET_REQUIRED_TOPOLOGY,
    PODSET_SLICE_LAYERS,
    PODSET_SLICE_REQUIRED_TOPOLOGY,
    PODSET_SLICE_SIZE,
    PODSET_UNCONSTRAINED_TOPOLOGY,
)
from events.go_bool import as_bool
from events.json_object import JsonObject, object_at
from events.json_path import FieldBroken, dotted
from events.settings import SettingsObserved
from events.whole_number import whole_number
from projections.feature_gates import enabled
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.named_queue import known_before
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.serving import pods_of_parent
from services.jobs.kinds.table import DEPLOYMENT, POD, TRAIN_JOB
from services.jobs.kinds.train_job import patched_annotations
from services.jobs.pod_sets.pod_set import InjectionForm, Pods
from services.jobs.topology.topology_request import MOST_LAYERS, Layer, as_int32, layer_count_text, layers_in
from services.validation.fields.names import label_key_problems
from services.validation.kinds.workload import is_elastic
from services.validation.problem import Problem, forbidden, invalid, required

_ONE_OF = (PODSET_REQUIRED_TOPOLOGY, PODSET_PREFERRED_TOPOLOGY, PODSET_UNCONSTRAINED_TOPOLOGY)
_LEVEL = "the label of a level, such as topology.kubernetes.io/zone"
_BY_ROLE = re.compile(r"(ReplicaSpecs)\.(\w+)")
_GROUP_SIZE = 2


class Annotated(msgspec.Struct, frozen=True, kw_only=True):
    """The annotations of one pod set's template, and where they are in the object."""

    field: str
    found: Mapping[str, str]
    count: int | None = None
    """How many pods it has, where that is known."""
    whole: bool = True
    """Whether these are all of them: the runtime of a TrainJob may say more."""

    def at(self, annotation: str) -> str:
        """The path of an annotation, as messages name it."""
        return f"{self.field}[{annotation}]"


def topology_problems(value: JsonObject, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with the topology annotations of a job, a pod or a serving object."""
    if not enabled(settings, "TopologyAwareScheduling"):
        return []
    pod_sets = _annotated(value, settings)
    elastic = is_elastic(value, settings)
    return [
        *(problem for one in pod_sets for problem in annotation_problems(one, settings)),
        *(problem for one in pod_sets if elastic for problem in _elastic(one)),
        *group_problems([one for one in pod_sets if one.whole]),
    ]


def new_topology_problems(old: JsonObject | None, new: JsonObject, settings: SettingsObserved) -> list[Problem]:
    """The same of a change, without what was wrong before: what was stored under older rules can still be started."""
    known = known_before(old, new)
    before = [] if known is None else topology_problems(known, settings)
    return [one for one in topology_problems(new, settings) if one not in before]


def annotation_problems(asked: Annotated, settings: SettingsObserved) -> list[Problem]:
    """What is wrong with the annotations of one pod set, whatever others say."""
    return [*_alone(asked), *_group(asked), *_offset(asked), *_slice(asked), *_layers(asked, settings)]


def _alone(asked: Annotated) -> list[Problem]:
    found = asked.found
    problems: list[Problem] = []
    if sum(name in found for name in _ONE_OF) > 1:
        names = ", ".join(f'"{name}"' for name in _ONE_OF)
        what = f"must not contain more than one topology annotation: [{names}]"
        problems.append(invalid(asked.field, "", what, "one of them"))
    for name in (PODSET_REQUIRED_TOPOLOGY, PODSET_PREFERRED_TOPOLOGY, PODSET_SLICE_REQUIRED_TOPOLOGY):
        if name in found:
            problems.extend(label_key_problems(found[name], asked.at(name)))
    word = found.get(PODSET_UNCONSTRAINED_TOPOLOGY)
    if word is not None and as_bool(word) is None:
        where = asked.at(PODSET_UNCONSTRAINED_TOPOLOGY)
        problems.append(invalid(where, word, "must be a boolean value", "true or false"))
    return problems


def group_problems(pod_sets: Sequence[Annotated]) -> list[Problem]:
    """What is wrong with the pod sets that name the same group."""
    groups: dict[str, list[Annotated]] = {}
    for one in pod_sets:
        # Of others the name means nothing, and is refused by itself.
        if PODSET_GROUP_NAME in one.found and any(name in one.found for name in _ONE_OF[:2]):
            groups.setdefault(one.found[PODSET_GROUP_NAME], []).append(one)
    return [problem for name, members in groups.items() for problem in _members(name, members)]


def _annotated(value: JsonObject, settings: SettingsObserved) -> list[Annotated]:
    api, word = str(value.get("apiVersion") or ""), str(value.get("kind") or "")
    group = api.rpartition("/")[0]
    if word == POD.kind and not group:
        return [Annotated(field="metadata.annotations", found=_texts(value))]
    kinds = kinds_of(settings)
    kind = kinds.of(api, word)
    try:
        if kind is None or (kind.reader == POD.reader and not kinds.serves(group, word)):
            return []
        if kind is DEPLOYMENT:
            return [
                Annotated(
                    field="spec.template.metadata.annotations", found=_texts(object_at(value, "spec", "template"))
                )
            ]
        pods = pods_of_parent(kind.place, value) if kinds.serves(group, word) else pods_of(kind, value)
    except FieldBroken:
        return []  # Whoever reads its pods says so.
    if kind is TRAIN_JOB and not pods:
        # The webhook knows the job alone, and not the runtime that it names.
        said = patched_annotations(value)
        return [Annotated(field=f"job[{name}]", found=found, whole=False) for name, found in said.items()]
    return [Annotated(field=_field(one), found=_texts(one.template), count=one.count) for one in pods]


def _texts(template: Mapping[str, object]) -> dict[str, str]:
    return {name: str(text) for name, text in object_at(template, "metadata", "annotations").items()}


def _field(pods: Pods) -> str:
    """Where its annotations are; roles of Kubeflow's kinds are keys of a map."""
    at = _BY_ROLE.sub(r"\1[\2]", dotted(pods.at))
    match pods.form:
        case InjectionForm.TEMPLATE:
            return f"{at}.metadata.annotations"
        case InjectionForm.FLAT:
            return f"{at}.annotations"
        case InjectionForm.INFO:
            return f"{dotted(pods.at[:-2])}.template"


def _elastic(asked: Annotated) -> list[Problem]:
    words = {PODSET_REQUIRED_TOPOLOGY: "required", PODSET_PREFERRED_TOPOLOGY: "preferred"}
    return [
        forbidden(asked.at(name), f"{word} topology is not supported with elastic jobs", "leave it out")
        for name, word in words.items()
        if name in asked.found
    ]


def _group(asked: Annotated) -> list[Problem]:
    found, where = asked.found, asked.at(PODSET_GROUP_NAME)
    name = found.get(PODSET_GROUP_NAME)
    if name is None:
        return []
    problems: list[Problem] = []
    if whole_number(name) is not None:
        problems.append(invalid(where, name, "must not be a number", "a name"))
    problems.extend(
        _not_beside(where, other) for other in (PODSET_SLICE_SIZE, PODSET_SLICE_REQUIRED_TOPOLOGY) if other in found
    )
    if asked.whole and PODSET_REQUIRED_TOPOLOGY not in found and PODSET_PREFERRED_TOPOLOGY not in found:
        neither = f"'{PODSET_PREFERRED_TOPOLOGY}' nor '{PODSET_REQUIRED_TOPOLOGY}'"
        problems.append(
            forbidden(where, f"may not be set when neither {neither} is specified", "one of them beside it")
        )
    return problems


def _offset(asked: Annotated) -> list[Problem]:
    text, where = asked.found.get(POD_INDEX_OFFSET), asked.at(POD_INDEX_OFFSET)
    if text is None:
        return []
    if PODSET_GROUP_NAME in asked.found:
        return [_not_beside(where, PODSET_GROUP_NAME)]
    number = as_int32(text)
    if number is None or number < 0:
        return [invalid(where, text, "must be a non-negative integer", "e.g. 1")]
    return []


def _slice(asked: Annotated) -> list[Problem]:
    found, where = asked.found, asked.at(PODSET_SLICE_SIZE)
    text, level = found.get(PODSET_SLICE_SIZE), PODSET_SLICE_REQUIRED_TOPOLOGY
    if text is None:
        missing = required(where, f"must be set when '{level}' is specified", "how many pods are a slice")
        return [missing] if asked.whole and level in found else []
    problems: list[Problem] = []
    size = as_int32(text)
    if size is None:
        problems.append(invalid(where, text, "must be a numeric value", "how many pods are a slice"))
    elif size < 1:
        problems.append(invalid(where, text, "must be greater than or equal to 1", "how many pods are a slice"))
    elif asked.count is not None and size > asked.count:
        problems.append(_too_large(where, text, asked.count))
    if asked.whole and level not in found:
        problems.append(forbidden(where, f"may not be set when '{level}' is not specified", f"{level}: {_LEVEL}"))
    return problems


def _layers(asked: Annotated, settings: SettingsObserved) -> list[Problem]:
    found, where = asked.found, asked.at(PODSET_SLICE_LAYERS)
    text, instead = found.get(PODSET_SLICE_LAYERS), 'e.g. [{"topology": "rack", "size": 4}]'
    if text is None:
        return []
    if not enabled(settings, "TASMultiLayerTopology"):
        what = "the TASMultiLayerTopology feature gate must be enabled to use this annotation"
        return [forbidden(where, what, f"{PODSET_SLICE_REQUIRED_TOPOLOGY} and {PODSET_SLICE_SIZE}")]
    problems = [
        _not_beside(where, name) for name in (PODSET_SLICE_REQUIRED_TOPOLOGY, PODSET_SLICE_SIZE) if name in found
    ]
    if PODSET_GROUP_NAME in found:
        problems.append(_not_beside(asked.at(PODSET_GROUP_NAME), PODSET_SLICE_LAYERS))
    layers = layers_in(text)
    if layers is None:
        return [
            *problems,
            invalid(where, text, "must be a valid JSON array: of objects with topology and size", instead),
        ]
    if not 1 <= len(layers) <= MOST_LAYERS:
        return [*problems, invalid(where, text, layer_count_text(len(layers)), instead)]
    problems.extend(problem for index in range(len(layers)) for problem in _layer(layers, index, f"{where}[{index}]"))
    if asked.count is not None and layers[0].size > asked.count:
        problems.append(_too_large(where, str(layers[0].size), asked.count))
    return problems


def _layer(layers: Sequence[Layer], index: int, where: str) -> list[Problem]:
    """What is wrong with one layer, alone and beside those before it."""
    one = layers[index]
    problems = label_key_problems(one.topology, f"{where}.topology")
    if one.size < 1:
        problems.append(invalid(f"{where}.size", one.size, "must be greater than or equal to 1", "1 or more"))
    first = next(place for place, other in enumerate(layers) if other.topology == one.topology)
    if first < index:
        what = f"{one.topology} (also at index {first})"
        problems.append(Problem(field=f"{where}.topology", code="Duplicate", what=what, instead=_LEVEL))
    if index and one.size > 0 and layers[index - 1].size % one.size:
        what = f"must evenly divide the parent layer size {layers[index - 1].size}"
        problems.append(invalid(f"{where}.size", one.size, what, "a divisor of it"))
    return problems


def _members(name: str, members: Sequence[Annotated]) -> list[Problem]:
    if len(members) != _GROUP_SIZE:
        what = f"can only define groups of exactly 2 pod sets, got: {len(members)} pod set(s)"
        return [
            invalid(one.at(PODSET_GROUP_NAME), name, what, "the name on a leader and its workers") for one in members
        ]
    first, second = members
    problems: list[Problem] = []
    if 1 not in (first.count, second.count):
        what = (
            "can only define groups where at least one pod set has only 1 replica, got: "
            f"{first.count} replica(s) and {second.count} replica(s) in the group"
        )
        problems.extend(invalid(one.at(PODSET_GROUP_NAME), name, what, "a leader of one pod") for one in members)
    if any(first.found.get(level) != second.found.get(level) for level in _ONE_OF[:2]):
        rule = f"must specify '{PODSET_REQUIRED_TOPOLOGY}' or '{PODSET_PREFERRED_TOPOLOGY}' topology consistent with"
        problems.extend(
            invalid(one.field, "", f"{rule} '{other.field}' in group '{name}'", "the same on both")
            for one, other in ((first, second), (second, first))
        )
    return problems


def _not_beside(where: str, other: str) -> Problem:
    return forbidden(where, f"may not be set when '{other}' is specified", "one of the two")


def _too_large(where: str, size: str, count: int) -> Problem:
    return invalid(where, size, f"must not be greater than pod set count {count}", f"at most {count}")
