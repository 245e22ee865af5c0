"""Objects against each other: queues, flavors, namespaces, classes and jobs that do not fit together.

The rules of GPUs answer what people get wrong most (docs/rules/objects.md#gpu-mistakes).
"""

from collections.abc import Callable, Sequence

from events.api.labels import PRIORITY_CLASS, QUEUE_NAME
from events.json_object import JsonMapping, JsonObject, array_at, object_at, objects_at
from events.selector import LabelSelector, Operator, Requirement
from projections.devices.card_config import HAMI, CardConfig
from projections.nodes.affinity import selects
from services.validation.cards.card_slots import slot_problems
from services.validation.cards.gpu_jobs import WHOLE_CARD_UNCHARGED, card_sizes, gpu_container_problems, gpu_names
from services.validation.cards.gpu_rules import gpu_queue_problems
from services.validation.cards.hami_webhook import hami_problems
from services.validation.problem import Problem, Severity

_SHOWN = 5
"""Names of what could be meant that are told."""


class Objects:
    """All objects of the files, by kind and name."""

    def __init__(self, values: Sequence[JsonObject], config: CardConfig = HAMI) -> None:
        self.config = config
        """How cards are asked for, by HAMi's configuration where it is among them."""
        self._by_kind: dict[str, dict[str, JsonObject]] = {}
        for value in values:
            meta = object_at(value, "metadata")
            name = str(meta.get("name"))
            key = f"{meta['namespace']}/{name}" if meta.get("namespace") else name
            self._by_kind.setdefault(str(value.get("kind")), {})[key] = value

    def find(self, kind: str, key: str) -> JsonObject | None:
        """An object by kind and key (`namespace/name`, or the name); None if it is not there."""
        return self._by_kind.get(kind, {}).get(key)

    def all(self, kind: str) -> dict[str, JsonObject]:
        """The objects of a kind by key."""
        return self._by_kind.get(kind, {})


def crosscheck(value: JsonObject, objects: Objects) -> list[Problem]:
    """The problems of an object together with the others, such as a reference to something that is not there."""
    rule = _RULES.get(str(value.get("kind")))
    return rule(value, objects) if rule is not None else []


def _cluster_queue(value: JsonObject, objects: Objects) -> list[Problem]:
    spec = object_at(value, "spec")
    found: list[Problem] = []
    flavors = objects.all("ResourceFlavor")
    for i, group in enumerate(objects_at(spec, "resourceGroups")):
        for j, flavor in enumerate(objects_at(group, "flavors")):
            field = f"spec.resourceGroups[{i}].flavors[{j}]"
            if flavors and flavor.get("name") not in flavors:
                found.append(
                    Problem(
                        field=f"{field}.name",
                        code="FlavorNotFound",
                        what=f"there is no ResourceFlavor {flavor.get('name')}",
                        consequence="the queue stays inactive",
                        instead=f"one of {', '.join(sorted(flavors))}",
                    )
                )
            found.extend(_flavor(flavor, field, in_cohort=bool(spec.get("cohortName") or spec.get("cohort"))))
    if spec.get("namespaceSelector") is None:
        found.append(
            Problem(
                field="spec.namespaceSelector",
                code="AdmitsNobody",
                what="no namespaceSelector is given",
                consequence="the queue admits workloads of no namespace at all",
                instead="namespaceSelector: {} to admit all namespaces",
                severity=Severity.WARNING,
            )
        )
    preemption = object_at(spec, "preemption")
    if not (spec.get("cohortName") or spec.get("cohort")) and preemption.get("reclaimWithinCohort", "Never") != "Never":
        found.append(
            Problem(
                field="spec.preemption.reclaimWithinCohort",
                code="ReclaimWithoutCohort",
                what="reclaimWithinCohort without a cohort",
                consequence="there is nobody to reclaim from; it has no effect",
                instead="cohortName, or no reclaimWithinCohort",
            )
        )
    return [*found, *gpu_queue_problems(spec, objects.all("ResourceFlavor"), objects.config, objects.all("Node"))]


def _cohort(value: JsonObject, objects: Objects) -> list[Problem]:
    """A cohort that is above itself."""
    name, cohorts = str(object_at(value, "metadata").get("name")), objects.all("Cohort")
    way = [name]
    while parent := object_at(cohorts.get(way[-1]), "spec").get("parentName"):
        if parent in way:
            break
        way.append(str(parent))
    if len(way) == 1 or parent != name:
        return []
    return [
        Problem(
            field="spec.parentName",
            code="CohortCycle",
            what=f"the cohort is above itself: {' in '.join((*way, name))}",
            consequence="no queue of these cohorts takes anything in",
            instead="another parentName for one of them, or none",
        )
    ]


def _flavor(flavor: JsonMapping, field: str, *, in_cohort: bool) -> list[Problem]:
    found: list[Problem] = []
    for k, one in enumerate(objects_at(flavor, "resources")):
        for limit in ("borrowingLimit", "lendingLimit"):
            if limit in one and not in_cohort:
                found.append(
                    Problem(
                        field=f"{field}.resources[{k}].{limit}",
                        code="LimitWithoutCohort",
                        what=f"{limit} without a cohort",
                        consequence="Kueue refuses the ClusterQueue: there is nobody to borrow from or lend to",
                        instead="cohortName, or no limit",
                    )
                )
    return found


def _resource_flavor(value: JsonObject, objects: Objects) -> list[Problem]:
    name, topologies = object_at(value, "spec").get("topologyName"), objects.all("Topology")
    if not name or not topologies or name in topologies:
        return []
    return [
        Problem(
            field="spec.topologyName",
            code="TopologyNotFound",
            what=f"there is no Topology {name}",
            consequence="queues with this flavor stay inactive",
            instead=f"one of {', '.join(sorted(topologies))}",
        )
    ]


def _local_queue(value: JsonObject, objects: Objects) -> list[Problem]:
    name, namespace = object_at(value, "spec").get("clusterQueue"), object_at(value, "metadata").get("namespace")
    queues = objects.all("ClusterQueue")
    queue = queues.get(str(name))
    if queue is None:
        if not queues:
            return []
        return [
            Problem(
                field="spec.clusterQueue",
                code="ClusterQueueNotFound",
                what=f"there is no ClusterQueue {name}",
                consequence="its jobs wait for ever",
                instead=f"one of {', '.join(sorted(queues))}",
            )
        ]
    space = objects.find("Namespace", str(namespace))
    labels = {**object_at(space, "metadata", "labels"), "kubernetes.io/metadata.name": str(namespace)}
    selector = _selector(object_at(queue, "spec").get("namespaceSelector"))
    if space is not None and not selects(selector, labels):
        return [
            Problem(
                field="spec.clusterQueue",
                code="NamespaceExcluded",
                what=f"ClusterQueue {name} admits no workloads of namespace {namespace}: its namespaceSelector does not match",
                consequence="every job sent to this queue stays inadmissible",
                instead="a namespaceSelector that matches both namespaces, or a ClusterQueue of its own",
            )
        ]
    return []


def _job(value: JsonObject, objects: Objects) -> list[Problem]:
    meta, spec = object_at(value, "metadata"), object_at(value, "spec")
    labels, annotations = object_at(meta, "labels"), object_at(meta, "annotations")
    found: list[Problem] = []
    queue = labels.get(QUEUE_NAME) or annotations.get(QUEUE_NAME)
    if QUEUE_NAME in annotations and QUEUE_NAME not in labels:
        found.append(_annotation(QUEUE_NAME, annotations[QUEUE_NAME], "the job is not queued by Kueue since 0.3"))
    if PRIORITY_CLASS in annotations and PRIORITY_CLASS not in labels:
        found.append(
            _annotation(PRIORITY_CLASS, annotations[PRIORITY_CLASS], "the annotation has no effect on the queue")
        )
    found.extend(_queue_of_job(queue, meta.get("namespace"), objects))
    parallelism, completions = spec.get("parallelism", 1), spec.get("completions")
    if isinstance(completions, int) and isinstance(parallelism, int) and parallelism > completions >= 0:
        found.append(
            Problem(
                field="spec.parallelism",
                code="ParallelismAboveCompletions",
                what=f"parallelism {parallelism} with completions {completions}",
                consequence=f"only {completions} pod(s) ever run at once, and so many are admitted",
                instead=f"completions: {parallelism}, if {parallelism} pods are meant to run",
            )
        )
    nodes = objects.all("Node")
    sizes = card_sizes(objects.all("ResourceFlavor"), nodes, objects.config)
    template = object_at(spec, "template")
    pod = object_at(template, "spec")
    cards = gpu_container_problems(pod, "spec.template.spec", sizes, objects.config)
    if not _counts_parts_of_cards(queue, meta.get("namespace"), objects):
        cards = [one for one in cards if one.code != WHOLE_CARD_UNCHARGED]
    namespace = objects.find("Namespace", str(meta.get("namespace") or "default"))
    return [
        *found,
        *_classes(labels, pod, objects),
        *cards,
        *slot_problems(pod, "spec.template.spec", nodes, objects.config),
        *hami_problems(template, "spec.template", cards, objects.config, namespace=namespace),
    ]


def _counts_parts_of_cards(queue: str | None, namespace: str | None, objects: Objects) -> bool:
    """Whether the queue of a job has quota for memory or cores of cards; taken so where it is not at hand."""
    local = objects.find("LocalQueue", f"{namespace or 'default'}/{queue}")
    cluster_queue = objects.find("ClusterQueue", str(object_at(local, "spec").get("clusterQueue")))
    names = gpu_names(objects.config)
    parts = {names.memory, names.cores, names.percent}
    groups = objects_at(cluster_queue, "spec", "resourceGroups")
    return cluster_queue is None or any(parts & set(array_at(group, "coveredResources")) for group in groups)


def _queue_of_job(queue: str | None, namespace: str | None, objects: Objects) -> list[Problem]:
    queues = objects.all("LocalQueue")
    if not queue or not queues or f"{namespace or 'default'}/{queue}" in queues:
        return []
    elsewhere = [key for key in sorted(queues) if key.endswith(f"/{queue}")]
    if namespace is None and elsewhere:
        home = elsewhere[0].partition("/")[0]
        return [
            Problem(
                field="metadata",
                code="NamespaceLeftOut",
                what=f"no namespace is given, and LocalQueue {queue} is in {home}",
                consequence="applied without -n, the job waits for ever in namespace default",
                instead=f"metadata.namespace: {home}",
                severity=Severity.WARNING,
            )
        ]
    home = f"{namespace or 'default'}/"
    here = [key.removeprefix(home) for key in sorted(queues) if key.startswith(home)]
    return [
        Problem(
            field=f"metadata.labels.{QUEUE_NAME}",
            code="LocalQueueNotFound",
            what=f"there is no LocalQueue {queue} in namespace {namespace or 'default'}",
            consequence="the job waits for ever",
            # The label holds a name alone, of a queue in the namespace of the job.
            instead=f"one of {', '.join(here)}"
            if here
            else f"a LocalQueue in that namespace; there are {_some(sorted(queues))}",
        )
    ]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _classes(labels: JsonMapping, pod: JsonMapping, objects: Objects) -> list[Problem]:
    found: list[Problem] = []
    for kind, name, field, consequence in (
        (
            "WorkloadPriorityClass",
            labels.get(PRIORITY_CLASS),
            f"metadata.labels.{PRIORITY_CLASS}",
            "the job is not queued until the class is there",
        ),
        (
            "PriorityClass",
            pod.get("priorityClassName"),
            "spec.template.spec.priorityClassName",
            "the cluster refuses its pods",
        ),
    ):
        known = objects.all(kind)
        if name and known and name not in known:
            found.append(
                Problem(
                    field=field,
                    code=f"{kind}NotFound",
                    what=f"there is no {kind} {name}",
                    consequence=consequence,
                    instead=f"one of {', '.join(sorted(known))}",
                )
            )
    return found


def _annotation(name: str, value: str, consequence: str) -> Problem:
    return Problem(
        field=f"metadata.annotations.{name}",
        code="AnnotationForLabel",
        what=f"{name} is given as an annotation",
        consequence=consequence,
        instead=f"labels: {{{name}: {value}}}" + (", naming a WorkloadPriorityClass" if name == PRIORITY_CLASS else ""),
    )


def _selector(found: JsonMapping | None) -> LabelSelector | None:
    if found is None:
        return None
    return LabelSelector(
        labels=dict(object_at(found, "matchLabels")),
        expressions=tuple(
            Requirement(key=one["key"], operator=Operator(one["operator"]), values=tuple(array_at(one, "values")))
            for one in objects_at(found, "matchExpressions")
            if one.get("operator") in tuple(Operator)
        ),
    )


_RULES: dict[str, Callable[[JsonObject, Objects], list[Problem]]] = {
    "ClusterQueue": _cluster_queue,
    "Cohort": _cohort,
    "LocalQueue": _local_queue,
    "ResourceFlavor": _resource_flavor,
    "Job": _job,
}
