"""What the definition of a Workload refuses of its status (docs/rules/objects.md#written-status).

The definition that kuelog serves leaves a status open, which is written by kuelog most; what others write is held against this.
"""

from collections.abc import Mapping

from events.json_object import JsonMapping, array_at, object_at, objects_at
from services.validation.fields.bounds import Bounds, bound_problems
from services.validation.kinds.definition_bounds import CHECK_NAME, DNS_LABEL, NAME, POD_SETS_AT_MOST
from services.validation.kinds.workload import admission_of, holds_quota, pod_sets_of
from services.validation.problem import Problem, invalid

_POD_SET = Bounds(most=63, form=DNS_LABEL)
_NOT_NEGATIVE = Bounds(least=0)
_CLUSTER = Bounds(most=256)
_REASON = Bounds(most=316)
_EACH_POD_SET = Bounds(most=POD_SETS_AT_MOST)
_CHECK, _ASSIGNED = "status.admissionChecks[]", "status.admission.podSetAssignments"
_BOUNDS: Mapping[str, Bounds] = {
    "status.admission.clusterQueue": NAME,
    _ASSIGNED: _EACH_POD_SET,
    f"{_ASSIGNED}[].name": _POD_SET,
    f"{_ASSIGNED}[].count": _NOT_NEGATIVE,
    f"{_ASSIGNED}[].flavors{{}}": NAME,
    f"{_ASSIGNED}[].delayedTopologyRequest": Bounds(options=("Pending", "Ready")),
    "status.admissionChecks": Bounds(most=8),
    f"{_CHECK}.name": CHECK_NAME,
    f"{_CHECK}.message": Bounds(most=32_768),
    f"{_CHECK}.requeueAfterSeconds": _NOT_NEGATIVE,
    f"{_CHECK}.retryCount": _NOT_NEGATIVE,
    f"{_CHECK}.podSetUpdates[].name": _POD_SET,
    "status.clusterName": _CLUSTER,
    "status.nominatedClusterNames": Bounds(most=20),
    "status.nominatedClusterNames[]": _CLUSTER,
    "status.preemptionGates": Bounds(most=8),
    "status.preemptionGates[].name": Bounds(least=1, most=63),
    "status.reclaimablePods": _EACH_POD_SET,
    "status.reclaimablePods[].name": _POD_SET,
    "status.reclaimablePods[].count": _NOT_NEGATIVE,
    "status.requeueState.count": _NOT_NEGATIVE,
    "status.schedulingStats.evictions": Bounds(most=256),
    "status.schedulingStats.evictions[].count": _NOT_NEGATIVE,
    "status.schedulingStats.evictions[].reason": _REASON,
    "status.schedulingStats.evictions[].underlyingCause": _REASON,
    "status.unhealthyNodes[].name": Bounds(most=63),
}


def status_problems(value: JsonMapping) -> list[Problem]:
    """What of a status is beyond its bounds, or contradicts itself."""
    found = bound_problems(value, _BOUNDS)
    sets, admission = len(pod_sets_of(value)), admission_of(value)
    given = len(objects_at(admission, "podSetAssignments")) if admission is not None else sets
    if holds_quota(value) and given != sets:
        what = f"{given} assignments for {sets} pod sets"
        found.append(invalid(_ASSIGNED, given, what, "an assignment for each pod set"))
    status = object_at(value, "status")
    name = status.get("clusterName")
    if name is not None and array_at(status, "nominatedClusterNames"):
        what = "a cluster was chosen while others are still nominated"
        found.append(invalid("status.clusterName", name, what, "no nominatedClusterNames once there is a clusterName"))
    return found
