"""One cycle of kuelog in a drawn world, as recorded cases of Kueue's are played."""

from events.quantity import from_units, parse_quantity
from events.workload import ConditionStatus, PodSetAssignment
from projections.workloads.conditions import NODE_FAILURES
from projections.workloads.lifecycle import EVICTED, PREEMPTED, QUOTA_RESERVED, Workload
from services.queue_manager.reconcile import reconcile
from tests.conformance.kueue.case_world import CaseWorld
from tests.conformance.kueue.lining import line_up
from tests.peers.cycles.answer import Answer, Held, Told
from tests.peers.cycles.world import World
from tests.peers.worlds.here import LATER_GATES


def decided_here(world: World) -> Answer:
    """What kuelog makes of it with the feature gates of Kueue 0.17."""
    at = CaseWorld(
        {
            "now": world.now,
            "config": {"fair_sharing": world.fair, "fair_sharing_preemption_strategies": world.strategies},
            "gates_non_default": {**dict.fromkeys(LATER_GATES, False), **world.gates},
            "objects": {
                "namespaces": world.namespaces,
                "resource_flavors": world.flavors,
                "cluster_queues": world.cluster_queues,
                "cohorts": world.cohorts,
                "local_queues": world.local_queues,
                "topologies": world.topologies,
                "nodes": world.nodes,
                "pods": world.pods,
            },
            "workloads": world.workloads,
        }
    )
    line_up(at)
    decisions = at.cycle()
    for one in [one for one in at.world.workloads.values() if one.second_pass.unhealthy_nodes]:
        at.fold(reconcile(at.world, one, at.now))
    keys = {str(key) for one in decisions if (key := getattr(one, "workload", ""))}
    workloads = at.world.workloads.values()
    unfinished = [one for one in workloads if not one.finished]
    return Answer(
        holds={one.name: _held(one) for one in unfinished if one.reserved},
        preempted={one.name: told for one in unfinished if (told := _told(one, PREEMPTED, ConditionStatus.TRUE))},
        evicted=sorted(
            one.name
            for one in unfinished
            if (told := _told(one, EVICTED, ConditionStatus.TRUE)) and told.reason == NODE_FAILURES
        ),
        finished=sorted(one.name for one in workloads if one.finished),
        pending={
            one.name: told
            for one in unfinished
            if not one.reserved and (told := _told(one, QUOTA_RESERVED, ConditionStatus.FALSE))
        },
        decided=sorted(key.rpartition("/")[2] for key in keys),
    )


def _held(workload: Workload) -> list[Held]:
    assignments: tuple[PodSetAssignment, ...] = () if workload.admission is None else workload.admission.assignments
    return [
        Held(
            one.name,
            one.count,
            one.flavors,
            {resource: str(parse_quantity(from_units(resource, amount))) for resource, amount in one.usage.items()},
            {} if one.topology is None else {"/".join(at.values): at.count for at in one.topology.assignment.domains},
        )
        for one in assignments
    ]


def _told(workload: Workload, kind: str, status: ConditionStatus) -> Told | None:
    found = workload.condition(kind)
    return Told(found.reason, found.message) if found is not None and found.status is status else None
