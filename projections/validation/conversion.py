"""Objects of older Kueue versions as v1beta2 (kueue-apis §3, §4), with a warning for what changes its meaning."""

from typing import Any

from projections.validation.problem import Problem, Severity

GROUP = "kueue.x-k8s.io"
STORED = f"{GROUP}/v1beta2"

Plain = dict[str, Any]


def to_v1beta2(value: Plain) -> tuple[Plain, list[Problem]]:
    """The object in the stored version; one that is not Kueue's, or is in it already, comes back as it is."""
    version = str(value.get("apiVersion", ""))
    if not version.startswith(f"{GROUP}/"):
        return value, []
    problems: list[Problem] = []
    match version.partition("/")[2]:
        case "v1beta2":
            converted = value
        case "v1alpha2" | "v1alpha1":
            converted = _from_alpha(value, problems)
            problems.append(
                Problem(
                    field="apiVersion",
                    code="OldVersion",
                    what=f"{version} has not been served since Kueue 0.3",
                    consequence="Kueue refuses the object",
                    instead=f"apiVersion: {STORED}, as `kuelog convert` prints it",
                    severity=Severity.WARNING,
                )
            )
        case _:
            converted = value
    return {**_from_beta1(converted), "apiVersion": STORED}, problems


def _from_beta1(value: Plain) -> Plain:
    """Fields of v1beta1, wherever they stand: the embedded API keeps objects under the version they came in."""
    spec = value.get("spec")
    if not isinstance(spec, dict):
        return value
    spec = dict(spec)
    match value.get("kind"):
        case "ClusterQueue":
            _cluster_queue(spec)
        case "Cohort":
            if "parent" in spec:
                spec.setdefault("parentName", spec.pop("parent"))
        case "Workload":
            _workload(spec)
        case _:
            return value
    return {**value, "spec": spec}


def _cluster_queue(spec: Plain) -> None:
    if "cohort" in spec:
        spec.setdefault("cohortName", spec.pop("cohort"))
    names = spec.pop("admissionChecks", None)
    if names:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in names]}
    fungibility = spec.get("flavorFungibility")
    if isinstance(fungibility, dict):
        renamed = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
        spec["flavorFungibility"] = {name: renamed.get(value, value) for name, value in fungibility.items()}


def _workload(spec: Plain) -> None:
    name, source = spec.pop("priorityClassName", ""), spec.pop("priorityClassSource", "")
    if name and "priorityClassRef" not in spec:
        group, _, kind = source.partition("/")
        kinds = {"workloadpriorityclass": "WorkloadPriorityClass", "priorityclass": "PriorityClass"}
        spec["priorityClassRef"] = {"group": group, "kind": kinds.get(kind, kind), "name": name}


def _from_alpha(value: Plain, problems: list[Problem]) -> Plain:
    match value.get("kind"):
        case "ResourceFlavor":
            return _alpha_flavor(value)
        case "ClusterQueue":
            return _alpha_cluster_queue(value, problems)
        case _:
            return value


def _alpha_flavor(value: Plain) -> Plain:
    meta = value.get("metadata") or {}
    labels = value.get("nodeSelector") or meta.get("labels") or {}
    spec: Plain = {**(value.get("spec") or {}), "nodeLabels": labels}
    if value.get("taints"):
        spec["nodeTaints"] = value["taints"]
    kept = {name: field for name, field in value.items() if name not in ("nodeSelector", "taints")}
    return {**kept, "spec": spec}


def _alpha_cluster_queue(value: Plain, problems: list[Problem]) -> Plain:
    spec = dict(value.get("spec") or {})
    resources = spec.pop("resources", None) or []
    by_flavors: dict[tuple[str, ...], list[Plain]] = {}
    for resource in resources:
        names = tuple(flavor["name"] for flavor in resource.get("flavors") or ())
        by_flavors.setdefault(names, []).append(resource)
    groups: list[Plain] = []
    for names, members in by_flavors.items():
        flavors = [
            {"name": name, "resources": [_alpha_quota(one, index, bool(spec.get("cohort")), problems) for one in members]}
            for index, name in enumerate(names)
        ]
        groups.append({"coveredResources": [one["name"] for one in members], "flavors": flavors})
    if groups:
        spec["resourceGroups"] = groups
    if "namespaceSelector" not in spec:
        problems.append(
            Problem(
                field="spec.namespaceSelector",
                code="AdmitsNobody",
                what="no namespaceSelector is given",
                consequence="the queue admits workloads of no namespace at all",
                instead="namespaceSelector: {} to admit all namespaces",
                severity=Severity.WARNING,
            )
        )
    return {**value, "spec": spec}


def _alpha_quota(resource: Plain, index: int, in_cohort: bool, problems: list[Problem]) -> Plain:  # noqa: FBT001
    quota = (resource["flavors"][index] or {}).get("quota") or {}
    found: Plain = {"name": resource["name"], "nominalQuota": quota.get("min", 0)}
    if "max" in quota:
        if in_cohort:
            found["borrowingLimit"] = _difference(quota["max"], quota.get("min", 0))
        else:
            problems.append(
                Problem(
                    field=f"spec.resources[{resource['name']}].flavors[{index}].quota.max",
                    code="LimitWithoutCohort",
                    what=f"max {quota['max']} without a cohort has no effect",
                    consequence=f"the usable quota is min, which is {quota.get('min', 0)}",
                    instead=f"nominalQuota: {quota['max']} if so much is really owned",
                    severity=Severity.WARNING,
                )
            )
    return found


def _difference(most: Any, least: Any) -> Any:
    return most - least if isinstance(most, int) and isinstance(least, int) else most
