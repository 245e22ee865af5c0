"""What a workload brings along that another manager has decided about: the status that it has in the cluster already.

Rule: docs/rules/adoption.md#adopted
"""

from collections.abc import Mapping

from msgspec.structs import replace

from events.event import Millis
from events.workload import AdoptedStatus, Condition, ConditionStatus, DecidedElsewhere, PodSetAssignment
from projections.checks.required import required_checks
from projections.devices.requests.card_requests import any_asks_for_cards
from projections.devices.state import DeviceState, config_of
from projections.feature_gates import enabled
from projections.log_position import LogPosition
from projections.quota.charge_quota import done_when_let_in, given_back_by
from projections.topology.state import TopologyState
from projections.workloads.changed_part import changed_part
from projections.workloads.lifecycle import (
    ADMITTED,
    FINISHED,
    PREEMPTED,
    QUOTA_RESERVED,
    Admission,
    Devices,
    Workload,
    decided_at,
    moments,
)
from projections.workloads.stops import Requeue


def is_of_others(told: DecidedElsewhere, workload: Workload) -> bool:
    """Whether what an object is told to show is a decision that the log has never made.

    What kuelog writes is on the log before: a write whose report was lost, or is on its way, shows a moment of the log.

    Rule: docs/rules/adoption.md#word-of-others
    """
    decided = decided_at(told.status.conditions)
    return told.version > workload.in_cluster.written and decided > 0 and decided not in moments(workload)


def adopt(world: TopologyState, workload: Workload, status: AdoptedStatus, position: LogPosition) -> Workload:
    """The workload with the status that it was found with: the beginning of its story here, or of another part of it."""
    conditions = {condition.type: condition for condition in status.conditions}
    done = dict(status.reclaimable) if enabled(world.settings, "ReclaimablePods") else {}
    adopted = replace(
        workload,
        conditions=conditions,
        checks={check.name: check for check in status.checks},
        second_pass=changed_part(workload.second_pass, unhealthy_nodes=status.unhealthy_nodes),
        reclaimable=done,
        stops=replace(
            workload.stops,
            requeue=Requeue(count=status.requeue_count, at=status.requeue_at),
            past_execution=status.past_execution,
            evictions=status.evictions,
            preempted_at=_since(conditions, PREEMPTED),
        ),
        gates={gate.name: gate for gate in status.gates},
        admitted_at=_since(conditions, ADMITTED, ConditionStatus.TRUE),
        finish_shown=FINISHED in conditions and conditions[FINISHED].status is ConditionStatus.TRUE,
    )
    reserved = conditions.get(QUOTA_RESERVED)
    unsaid = reserved is None and bool(status.cluster_queue)
    if not status.cluster_queue or not (unsaid or (reserved and reserved.status is ConditionStatus.TRUE)):
        return adopted
    done_before = done_when_let_in(workload.spec.pod_sets, status.assignments, done)
    admission = Admission(
        cluster_queue=status.cluster_queue,
        assignments=tuple(_on_its_topology(world, one) for one in status.assignments),
        reservation=position.sequence,
        reserved_at=reserved.since if reserved is not None else position.at,
        required_checks=tuple(sorted(adopted.checks)),
        done_before=done_before,
        given_back=given_back_by(done, done_before, {}),
        of_others=True,
    )
    adopted = replace(adopted, admission=admission)
    queue = world.cluster_queues.get(status.cluster_queue)
    if queue is not None:
        admission = replace(admission, required_checks=required_checks(queue, adopted))
    return replace(adopted, admission=admission, devices=_held_already(world, adopted, admission))


def _on_its_topology(world: TopologyState, given: PodSetAssignment) -> PodSetAssignment:
    """A stored assignment names no flavor: its domains are those of the one that has a topology.

    Rule: docs/rules/topology.md#tas-flavor
    """
    if given.topology is None:
        return given
    placing = next((one for one in sorted({*given.flavors.values()}) if world.domains.has(one)), given.topology.flavor)
    return replace(given, topology=replace(given.topology, flavor=placing))


def _since(conditions: Mapping[str, Condition], kind: str, status: ConditionStatus | None = None) -> Millis | None:
    """Since when a condition stands: what protects victims for a time counts from there."""
    condition = conditions.get(kind)
    return condition.since if condition is not None and condition.since and status in (None, condition.status) else None


def _held_already(world: DeviceState, adopted: Workload, admission: Admission) -> Devices | None:
    """What runs has its cards: its pods hold them, and are charged for them. Nothing is set aside for it once more."""
    asks = any_asks_for_cards(adopted.spec.pod_sets, config_of(world))
    return Devices(reservation=admission.reservation) if asks and adopted.admitted else None
