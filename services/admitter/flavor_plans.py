"""The plan of the search for a workload's flavors: made once for all workloads of its equivalence class in a queue."""

from collections.abc import Mapping

from events.settings import QuotaCheckStrategy
from projections.devices.state import config_of
from projections.feature_gates import enabled
from projections.flavors.plan import HeldBefore, Plan, PodSetRequest, plan_of
from projections.flavors.suitability import PlanRules
from projections.queues.state import QueueState
from projections.quota.adjusted_pods import adjusted, misfit
from projections.quota.charge_quota import remaining_usage
from projections.quota.effective_requests import has_quota_of_pods, pod_set_requests
from projections.workloads.lifecycle import Workload
from projections.workloads.slices import replaced_in
from services.admitter.entry import QueueHead
from services.admitter.state import AdmitterState


def plan_for(world: AdmitterState, head: QueueHead) -> Plan:
    """The cached plan for the pods that a workload still needs (its reclaimable ones left out)."""
    key = (head.queue.name, head.workload.equivalence)
    known = world.plan_cache.plans.get(key) if world.shortcuts else None
    if known is not None and known.queue is head.queue and not head.workload.spec.replaces:
        return known
    done = head.workload.reclaimable
    counts = {one.name: max(one.count - done.get(one.name, 0), 0) for one in head.workload.spec.pod_sets}
    plan = plan_with(world, head, counts)
    if not head.workload.spec.replaces:  # What the other slice holds may change at any time.
        world.plan_cache.keep(key, plan)
    return plan


def plan_with(world: QueueState, head: QueueHead, counts: Mapping[str, int]) -> Plan:
    """The plan for other counts of pods, given by the name of the pod set (partial admission); it is not cached."""
    covers_pods = has_quota_of_pods(head.queue)
    held = _held_before(replaced_in(world, head.workload, head.queue.name))
    asked = [
        PodSetRequest(
            pod_set=pod_set,
            count=counts[pod_set.name],
            requests=pod_set_requests(
                adjusted(world.limits, world.runtime_classes, head.workload.namespace, pod_set),
                counts[pod_set.name],
                world.settings,
                covers_pods=covers_pods,
                config=config_of(world),
            ),
            held=held.get(pod_set.name),
        )
        for pod_set in head.workload.spec.pod_sets
    ]
    settings = world.settings
    rules = PlanRules(
        ignore_undeclared=settings.undeclared is QuotaCheckStrategy.IGNORE_UNDECLARED
        and enabled(settings, "QuotaCheckStrategy"),
        topology=enabled(settings, "TopologyAwareScheduling"),
        topologies=world.topologies,
        allowed=(head.workload.spec.allowed_flavors or None) if enabled(settings, "ConcurrentAdmission") else None,
        fungibility=enabled(settings, "FlavorFungibility"),
    )
    problem = misfit(world.limits, world.runtime_classes, head.workload.namespace, head.workload.spec.pod_sets)
    return plan_of(world.quota, head.queue, world.flavors, asked, rules, problem=problem)


def _held_before(old: Workload | None) -> dict[str, HeldBefore]:
    """What each pod set holds of the slice that is replaced, by its name: a job may name its pod sets in another order by now."""
    if old is None or old.admission is None:
        return {}
    return {
        one.name: HeldBefore(usage=remaining_usage(one, old.admission.given_back.get(one.name, 0)), flavors=one.flavors)
        for one in old.admission.assignments
    }
