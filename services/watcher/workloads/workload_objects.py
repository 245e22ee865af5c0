"""Workload objects as facts: what they request, and their status."""

from events.api.labels import (
    ADMISSION_GATED_BY,
    DECISION,
    ELASTIC_JOB,
    JOB_UID,
    MULTIKUEUE_ORIGIN,
    PRIORITY_BOOST,
    USER,
    WORKLOAD_ALLOWED_RESOURCE_FLAVORS,
    WORKLOAD_SLICE_NAME,
    WORKLOAD_SLICE_REPLACEMENT_FOR,
)
from events.api.meta import ObjectMeta
from events.api.workload import ApiAssignment, ApiPodSet, ApiTopologyRequest, ApiWorkload, ApiWorkloadStatus
from events.json_object import JsonMapping, object_at, objects_at
from events.pod_set import PodSet
from events.timestamp import parse_timestamp
from events.topology import DelayedTopology, SliceConstraint, TopologyPlacement, TopologyRequest
from events.whole_number import signed_of_32_bits
from events.workload import (
    AdoptedStatus,
    Condition,
    ConditionStatus,
    EvictionCount,
    GateState,
    Owner,
    PodSetAssignment,
    PriorityRef,
    WorkloadSpec,
)
from projections.quota.effective_requests import pod_requests
from projections.topology.domains.stored_assignment import read_assignment
from projections.workloads.lifecycle import ADMITTED, EVICTED, PODS_READY, QUOTA_RESERVED
from projections.workloads.slices import with_fewer
from services.validation.kinds.schema_rules import twice_named
from services.validation.unsupported import asked_in
from services.watcher.fields.check_states import checks_of
from services.watcher.fields.object_reading import created_at, read
from services.watcher.fields.pod_shapes import pod_shape
from services.watcher.fields.problems import Refused, problem
from services.watcher.fields.quantities import amounts
from services.watcher.jobs.jobs import JobState, names_in, never_preempts, own_parameters

WORKLOAD_CLASS = "WorkloadPriorityClass"


def belongs_to_job(value: JsonMapping) -> bool:
    """Whether a Workload object belongs to a job: then the job is what is watched."""
    return bool(object_at(value, "metadata").get("ownerReferences"))


def names_class(value: JsonMapping) -> bool:
    """Whether a Workload object has the priority of a WorkloadPriorityClass."""
    return object_at(value, "spec", "priorityClassRef").get("kind") == WORKLOAD_CLASS


def workload_state(value: JsonMapping) -> JobState:
    """The requests and status of a Workload object. Raises `Refused`."""
    found = read(value, ApiWorkload)
    if twice := twice_named(value):
        raise Refused([problem(one.field, one.what, one.instead) for one in twice])
    meta, spec = found.metadata, found.spec
    reference = spec.priority_class_ref
    return JobState(
        workload=f"{meta.namespace}/{meta.name}",
        uid=meta.uid,
        owner=_owner(meta),
        created_at=created_at(meta),
        spec=WorkloadSpec(
            queue=spec.queue_name,
            pod_sets=tuple(
                PodSet(
                    name=one.name,
                    count=one.count,
                    minimum=one.min_count,
                    shape=pod_shape(one.template, f"spec.podSets[{index}].template"),
                    topology=_topology(one),
                )
                for index, one in enumerate(spec.pod_sets)
            ),
            priority=spec.priority or 0,
            priority_class=None
            if reference is None
            else PriorityRef(name=reference.name, workload=reference.kind == WORKLOAD_CLASS),
            active=spec.active,
            priority_boost=_boost(meta),
            allowed_flavors=names_in(meta, WORKLOAD_ALLOWED_RESOURCE_FLAVORS),
            max_execution=None
            if spec.maximum_execution_time_seconds is None
            else spec.maximum_execution_time_seconds * 1000,
            gated_by=names_in(meta, ADMISSION_GATED_BY),
            preemption_gates=tuple(one.name for one in spec.preemption_gates or ()),
            job_uid="" if meta.owner_references else (meta.labels or {}).get(JOB_UID, ""),
            orphaned=JOB_UID in (meta.labels or {}) and not meta.owner_references,
            leaving=meta.deletion_timestamp is not None,
            never_preempt=never_preempts(meta),
            provisioning=own_parameters(meta),
            user=(meta.labels or {}).get(USER, ""),
            not_done=asked_in({**value, "kind": "Workload"}),
            elastic=is_elastic(meta),
            slice_name=_slice_name(meta),
            replaces=_replaced(meta),
            variant_of=_parent(meta),
            origin=(meta.labels or {}).get(MULTIKUEUE_ORIGIN, ""),
        ),
        started=True,
        finished=next(
            (
                (one.reason, one.message)
                for one in found.status.conditions or ()
                if (one.type, one.status) == ("Finished", "True")
            ),
            None,
        ),
        ready=pods_ready_in(value),
        gone=given_back_in(value),
        reclaimed=_given_back(found),
        stands_still=found.status.admission is None,
        adopted=_adopted(value, found),
        checks=checks_of(value, found),
        decision=(meta.annotations or {}).get(DECISION, ""),
    )


def is_elastic(meta: ObjectMeta) -> bool:
    """Whether a Workload object is a slice of an elastic job."""
    notes = meta.annotations or {}
    return notes.get(ELASTIC_JOB) == "true" or bool(notes.get(WORKLOAD_SLICE_REPLACEMENT_FOR))


def pods_ready_in(value: JsonMapping) -> bool | None:
    """Whether pods of the attempt that runs are ready, as whoever runs them shows it; None while nothing runs.

    Rule: docs/rules/eviction.md#pods-ready
    """
    shown = {one.get("type"): one for one in objects_at(value, "status", "conditions") if one.get("status") == "True"}
    admitted, ready = shown.get(ADMITTED), shown.get(PODS_READY)
    if admitted is None:
        return None
    # One that is older than the admission says how pods of an earlier attempt stood.
    return ready is not None and _time(ready.get("lastTransitionTime")) >= _time(admitted.get("lastTransitionTime"))


def given_back_in(value: JsonMapping) -> str | None:
    """How often it was evicted, once whoever runs it has taken its quota from it, as nothing of it runs any more; None until then.

    Rule: docs/rules/eviction.md#without-a-job
    """
    shown = {one.get("type"): one.get("status") for one in objects_at(value, "status", "conditions")}
    if (shown.get(EVICTED), shown.get(QUOTA_RESERVED)) != ("True", "False"):
        return None
    return str(sum(int(one.get("count") or 0) for one in objects_at(value, "status", "schedulingStats", "evictions")))


def _boost(meta: ObjectMeta) -> int:
    """The boost in the annotation; one that is no number of 32 bits counts as zero (docs/rules/queues.md#priority)."""
    return signed_of_32_bits((meta.annotations or {}).get(PRIORITY_BOOST, "0")) or 0


def _parent(meta: ObjectMeta) -> str:
    """The workload that the object is a variant of: the Workload that owns it; empty for any other."""
    owner = _owner(meta)
    return f"{meta.namespace}/{owner.name}" if owner is not None and owner.kind == "Workload" else ""


def _slice_name(meta: ObjectMeta) -> str:
    """The name of the first slice of its elastic job; empty for that itself."""
    name = (meta.annotations or {}).get(WORKLOAD_SLICE_NAME, "")
    return "" if name == meta.name else name


def _replaced(meta: ObjectMeta) -> str:
    """The slice whose place it takes; a manager of other clusters has the first one name itself (docs/rules/multikueue.md#slices)."""
    named = (meta.annotations or {}).get(WORKLOAD_SLICE_REPLACEMENT_FOR, "")
    return "" if named == f"{meta.namespace}/{meta.name}" else named


def _topology(pod_set: ApiPodSet) -> TopologyRequest | None:
    asked = pod_set.topology_request
    if asked is None:
        return None
    slices = _slices(asked)
    unconstrained = asked.unconstrained
    if asked.pod_set_slice_size is not None and not (slices or asked.required or asked.preferred):
        # A size alone asks for placement and names no level, as a plain "unconstrained: false" does.
        unconstrained = bool(unconstrained)
    return TopologyRequest(
        required=asked.required,
        preferred=asked.preferred,
        unconstrained=unconstrained,
        pod_set_group=asked.pod_set_group_name,
        slices=slices,
        layered=bool(asked.podset_slice_required_topology_constraints),
        pod_index_label=asked.pod_index_label,
        sub_group_index_label=asked.sub_group_index_label,
        sub_group_count=asked.sub_group_count or 0,
    )


def _slices(asked: ApiTopologyRequest) -> tuple[SliceConstraint, ...]:
    """The layers of slices; the fields for one layer count where there is no list.

    Rule: docs/rules/topology.md#slices
    """
    layers = asked.podset_slice_required_topology_constraints
    if layers:
        return tuple(SliceConstraint(topology=one.topology, size=one.size) for one in layers)
    level = asked.pod_set_slice_required_topology
    return (SliceConstraint(topology=level, size=asked.pod_set_slice_size or 0),) if level else ()


def _count(pod_set: ApiPodSet | None) -> int:
    return 0 if pod_set is None else pod_set.count


def _placement(given: ApiAssignment, pod_set: ApiPodSet | None) -> TopologyPlacement | None:
    """The domains of a pod set that was placed by topology; the flavor is the first, where there are several."""
    if given.topology_assignment is None or pod_set is None:
        return None
    return TopologyPlacement(
        flavor=min((given.flavors or {}).values(), default=""),
        requests=pod_requests(pod_shape(pod_set.template, f"spec.podSets[{pod_set.name}].template")),
        assignment=read_assignment(given.topology_assignment),
    )


def _given_back(found: ApiWorkload) -> dict[str, int]:
    """How many pods of each pod set are done; fewer than none would be charged beside those that are asked for."""
    return {one.name: max(one.count, 0) for one in found.status.reclaimable_pods or ()}


def _owner(meta: ObjectMeta) -> Owner | None:
    controller = next((one for one in meta.owner_references or () if one.controller), None)
    return None if controller is None else Owner(kind=controller.kind, name=controller.name, uid=controller.uid)


def _adopted(value: JsonMapping, found: ApiWorkload) -> AdoptedStatus | None:
    status = found.status
    if status == ApiWorkloadStatus():
        return None
    admission = status.admission
    pod_sets = {one.name: one for one in found.spec.pod_sets}
    requeue = status.requeue_state
    return AdoptedStatus(
        conditions=tuple(
            Condition(
                type=one.type,
                status=ConditionStatus(one.status),
                reason=one.reason,
                message=one.message,
                since=_time(one.last_transition_time),
                generation=one.observed_generation,
            )
            for one in status.conditions or ()
        ),
        cluster_queue=admission.cluster_queue if admission else "",
        assignments=tuple(
            _assignment(one, pod_sets.get(one.name), elastic=is_elastic(found.metadata))
            for one in ((admission.pod_set_assignments or ()) if admission else ())
        ),
        checks=checks_of(value, found),
        unhealthy_nodes=tuple(one.name for one in status.unhealthy_nodes or ()),
        reclaimable=_given_back(found),
        requeue_count=(requeue.count or 0) if requeue else 0,
        requeue_at=parse_timestamp(requeue.requeue_at) if requeue and requeue.requeue_at else None,
        past_execution=(status.accumulated_past_execution_time_seconds or 0) * 1000,
        evictions=tuple(
            EvictionCount(reason=one.reason, cause=one.underlying_cause, count=one.count)
            for one in (status.scheduling_stats.evictions or () if status.scheduling_stats else ())
        ),
        gates=tuple(
            GateState(name=one.name, open=one.position == "Open", since=_time(one.last_transition_time))
            for one in status.preemption_gates or ()
        ),
        cluster=status.cluster_name or _only(status.nominated_cluster_names or ()),
    )


def _assignment(given: ApiAssignment, pod_set: ApiPodSet | None, *, elastic: bool) -> PodSetAssignment:
    """What a pod set was given; of an elastic job that has become smaller since, what is left of it.

    Kueue leaves that as it was.

    Rule: docs/rules/adoption.md#slices
    """
    assignment = PodSetAssignment(
        name=given.name,
        count=_count(pod_set) if given.count is None else given.count,
        flavors=dict(sorted((given.flavors or {}).items())),
        usage=amounts(given.resource_usage, "status.admission.podSetAssignments.resourceUsage"),
        topology=_placement(given, pod_set),
        delayed_topology=DelayedTopology(given.delayed_topology_request) if given.delayed_topology_request else None,
    )
    return with_fewer(assignment, pod_set.count) if elastic and pod_set is not None else assignment


def _only(nominated: tuple[str, ...]) -> str:
    """The only cluster that is nominated: it may be chosen already, and the job be there, before that is shown; empty where there are others."""
    return nominated[0] if len(nominated) == 1 else ""


def _time(text: str | None) -> int:
    return parse_timestamp(text) if text else 0
