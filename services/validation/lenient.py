"""Manifests that Kueue refuses, given the meaning that they most likely have; each change is a warning.

A covered resource that a flavor does not mention is unlimited there; a resource that no group covers is not counted;
limits without a cohort are dropped; a queue without a selector is open to all; the old queue-name annotation becomes
the label; pods of a job without a restart policy are not started again; cards that are requested are limits, too; old versions are converted.
"""

from collections.abc import Sequence

from events.amount import UNLIMITED
from events.api.labels import PRIORITY_CLASS, QUEUE_NAME, QUOTA_CHECK_STRATEGY
from events.json_object import JsonMapping, JsonObject, array_at, object_at, objects_at
from services.validation.conversion.convert import to_v1beta2
from services.validation.fields.names import is_extended
from services.validation.fields.shape import shape_problems
from services.validation.problem import ObjectWithProblems, Problem, warning


def normalise(values: Sequence[JsonObject]) -> list[ObjectWithProblems]:
    """Each object in the form that makes sense, with what was changed."""
    classes = {
        str(value["metadata"]["name"])
        for value in values
        if value.get("kind") == "WorkloadPriorityClass" and not shape_problems(value)
    }
    sound = [not shape_problems(to_v1beta2(value).value) for value in values]
    made = [
        _normalise(value, classes) if fine else ObjectWithProblems(value, [])
        for value, fine in zip(values, sound, strict=True)
    ]
    widened = iter(_widened([one for one, fine in zip(made, sound, strict=True) if fine]))
    return [next(widened) if fine else one for one, fine in zip(made, sound, strict=True)]


def _widened(found: list[ObjectWithProblems]) -> list[ObjectWithProblems]:
    """A LocalQueue that somebody made is meant to work: its cluster queue takes in its namespace too."""
    made = list(found)
    values = [one.value for one in made]
    spaces = {str(value["metadata"].get("name")): value for value in values if value.get("kind") == "Namespace"}
    for index, one in enumerate(made):
        queue = one.value
        if queue.get("kind") != "ClusterQueue":
            continue
        labels = object_at(queue, "spec", "namespaceSelector", "matchLabels")
        local_queues = [
            value["metadata"].get("namespace")
            for value in values
            if value.get("kind") == "LocalQueue"
            and object_at(value, "spec").get("clusterQueue") == queue["metadata"].get("name")
        ]
        widened = {
            key: sorted({text, *(_label(spaces.get(str(local_queue)), key, text) for local_queue in local_queues)})
            for key, text in labels.items()
        }
        if all(len(values) == 1 for values in widened.values()):
            continue
        selector = {
            "matchExpressions": [{"key": key, "operator": "In", "values": values} for key, values in widened.items()]
        }
        made[index] = ObjectWithProblems(
            {**queue, "spec": {**queue["spec"], "namespaceSelector": selector}}, one.problems
        )
        one.problems.append(
            warning(
                "spec.namespaceSelector",
                "NamespaceExcluded",
                "the selector excludes the namespace of a LocalQueue that points here",
                "it is widened to take that namespace in",
                f"namespaceSelector: {selector}",
            )
        )
    return made


def _label(space: JsonObject | None, key: str, otherwise: str) -> str:
    return str(object_at(space, "metadata", "labels").get(key, otherwise))


def _normalise(value: JsonObject, classes: set[str]) -> ObjectWithProblems:
    newest = to_v1beta2(value)
    converted, problems = newest.value, newest.problems
    match converted.get("kind"):
        case "ClusterQueue":
            return ObjectWithProblems(_cluster_queue(converted, problems), problems)
        case "Job":
            return ObjectWithProblems(_job(converted, classes, problems), problems)
        case _:
            return newest


def _cluster_queue(value: JsonObject, problems: list[Problem]) -> JsonObject:
    spec = dict(object_at(value, "spec"))
    in_cohort = bool(spec.get("cohortName"))
    groups: list[JsonObject] = []
    for i, group in enumerate(objects_at(spec, "resourceGroups")):
        covered = list(array_at(group, "coveredResources"))
        flavors = [
            _flavor(flavor, covered, f"spec.resourceGroups[{i}].flavors[{j}]", in_cohort, problems)
            for j, flavor in enumerate(objects_at(group, "flavors"))
        ]
        groups.append({**group, "flavors": flavors})
    if groups:
        spec["resourceGroups"] = groups
    if spec.get("namespaceSelector") is None:
        spec["namespaceSelector"] = {}
        problems.append(
            warning(
                "spec.namespaceSelector",
                "AdmitsNobody",
                "no namespaceSelector is given",
                "Kueue would admit nobody; it is taken as all namespaces",
                "namespaceSelector: {}",
            )
        )
    meta = dict(object_at(value, "metadata"))
    annotations = dict(object_at(meta, "annotations"))
    if QUOTA_CHECK_STRATEGY not in annotations:
        annotations[QUOTA_CHECK_STRATEGY] = "IgnoreUndeclared"
        problems.append(
            warning(
                "spec.resourceGroups",
                "UncoveredIgnored",
                "resources that no group covers are not counted",
                "jobs that ask for cpu or memory are admitted all the same",
                "a resource group that covers them, if they are to be limited",
            )
        )
    return {**value, "metadata": {**meta, "annotations": annotations}, "spec": spec}


def _flavor(
    flavor: JsonMapping, covered: list[str], field: str, in_cohort: bool, problems: list[Problem]
) -> JsonObject:  # noqa: FBT001
    by_name = {one["name"]: dict(one) for one in objects_at(flavor, "resources")}
    for name in covered:
        if name not in by_name:
            by_name[name] = {"name": name, "nominalQuota": str(UNLIMITED)}
            problems.append(
                warning(
                    f"{field}.resources",
                    "FlavorOmitsResource",
                    f"flavor {flavor.get('name')} does not mention {name}",
                    "it is taken as unlimited there",
                    f"- name: {name} with the nominalQuota that is meant",
                )
            )
    for k, (name, quota) in enumerate(by_name.items()):
        for limit in ("borrowingLimit", "lendingLimit"):
            if limit in quota and not in_cohort:
                problems.append(
                    warning(
                        f"{field}.resources[{k}].{limit}",
                        "LimitWithoutCohort",
                        f"{limit} {quota.pop(limit)} of {name} without a cohort",
                        "it is ignored: there is nobody to borrow from or lend to",
                        "cohortName, or no limit",
                    )
                )
    return {**flavor, "resources": [by_name[name] for name in covered if name in by_name]}


def _job(value: JsonObject, classes: set[str], problems: list[Problem]) -> JsonObject:
    meta = dict(object_at(value, "metadata"))
    annotations, labels = object_at(meta, "annotations"), dict(object_at(meta, "labels"))
    if QUEUE_NAME in annotations and QUEUE_NAME not in labels:
        labels[QUEUE_NAME] = annotations[QUEUE_NAME]
        problems.append(
            warning(
                f"metadata.annotations.{QUEUE_NAME}",
                "QueueNameAnnotation",
                "the queue is named by an annotation",
                "Kueue has read only the label since 0.3; it is taken as the label",
                f"labels: {{{QUEUE_NAME}: {annotations[QUEUE_NAME]}}}",
            )
        )
    if PRIORITY_CLASS not in labels and annotations.get(PRIORITY_CLASS) in classes:
        labels[PRIORITY_CLASS] = annotations[PRIORITY_CLASS]
        problems.append(
            warning(
                f"metadata.annotations.{PRIORITY_CLASS}",
                "AnnotationForLabel",
                f"{PRIORITY_CLASS} is given as an annotation",
                "it names a WorkloadPriorityClass, so it is taken as the label",
                f"labels: {{{PRIORITY_CLASS}: {annotations[PRIORITY_CLASS]}}}",
            )
        )
    value = _that_runs(value, problems)
    return {**value, "metadata": {**meta, "labels": labels}} if labels else value


def _that_runs(value: JsonObject, problems: list[Problem]) -> JsonObject:
    """The job with pods that the API server takes: they come to an end, and cards that they request are their limits, too."""
    template = object_at(value, "spec", "template")
    pod = object_at(template, "spec")
    at = "spec.template.spec"
    containers: list[JsonObject] = []
    for index, one in enumerate(objects_at(pod, "containers")):
        resources = object_at(one, "resources")
        limits = object_at(resources, "limits")
        lacking = {
            name: asked
            for name, asked in object_at(resources, "requests").items()
            if is_extended(name) and name not in limits
        }
        field = f"{at}.containers[{index}].resources.limits"
        problems.extend(
            warning(
                f"{field}[{name}]",
                "RequestWithoutLimit",
                f"{name} is requested without a limit",
                "the API server would refuse it; it is taken as the limit, too",
                f"limits: {{{name}: {asked}}}",
            )
            for name, asked in lacking.items()
        )
        containers.append({**one, **({"resources": {**resources, "limits": {**limits, **lacking}}} if lacking else {})})
    changed: JsonObject = {"containers": containers} if containers else {}
    if "restartPolicy" not in pod and containers:
        changed["restartPolicy"] = "Never"
        problems.append(
            warning(
                f"{at}.restartPolicy",
                "NoRestartPolicy",
                "no restartPolicy is given",
                "the API server would refuse it; it is taken as Never",
                "restartPolicy: Never",
            )
        )
    if not changed:
        return value
    return {**value, "spec": {**object_at(value, "spec"), "template": {**template, "spec": {**pod, **changed}}}}
