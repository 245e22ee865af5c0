"""Variants of a workload decided about without bus or cluster: each flavor is tried at once, and a job moves to a better one."""

from collections import Counter

import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, RequeueReason, WorkloadAdmitted
from events.catalogue import AnyEvent
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    AdmissionCheckObserved,
    CheckRule,
    ClusterQueueObserved,
    ConcurrentAdmission,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    MigrationMode,
    NamespaceObserved,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
    StopPolicy,
)
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.variants import MigrationOrdered, PreemptionGateOpened, VariantDropped, VariantSubmitted, VariantSwitched
from events.workload import (
    CheckReported,
    CheckState,
    CheckStatus,
    ConditionStatus,
    Owner,
    PodsGone,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from ops.queries.explaining import explain, find_workload
from projections.counters.counted_in_world import counted_in
from projections.counters.queue_counters import QueueCounters
from projections.explanation.words import Tier
from projections.log_position import LogPosition
from projections.queues.waiting import unadmitted
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.workloads.lifecycle import ADMITTED, EVICTED, QUOTA_RESERVED, Workload
from projections.workloads.variants import BETWEEN_GATES, acting_variant, as_shown, variant_key, variants_of
from services.admitter.barriers import barrier_to
from services.admitter.decide import Admitter
from tests.stories.small_world import Story

FLAVORS = ("reserved", "on-demand", "spot")
TRY = ConcurrentAdmission()


def queue(
    policy: ConcurrentAdmission | None = TRY,
    *,
    flavors: tuple[str, ...] = FLAVORS,
    nominal: int = 10,
    checks: tuple[CheckRule, ...] = (),
    within: PreemptionPolicy = PreemptionPolicy.NEVER,
) -> ClusterQueueObserved:
    quotas = tuple(FlavorQuotas(flavor=one, quotas=(Quota(resource="cpu", nominal=nominal),)) for one in flavors)
    return ClusterQueueObserved(
        name="cq",
        namespaces=LabelSelector(),
        groups=(ResourceGroup(resources=("cpu",), flavors=quotas),),
        concurrent=policy,
        checks=checks,
        preemption=PreemptionRules(within_cluster_queue=within),
    )


def platform(found: ClusterQueueObserved) -> list[AnyEvent]:
    return [
        SettingsObserved(gates={"ConcurrentAdmission": True}),
        NamespaceObserved(name="team"),
        *(FlavorObserved(name=one) for one in FLAVORS),
        AdmissionCheckObserved(name="nodes", controller="example.com/nodes"),
        found,
        LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
    ]


def job(name: str, *, cpu: int = 10, at: int = 0, **asked: object) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="main", requests={"cpu": cpu}),))
    spec = WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=shape),))
    return WorkloadSubmitted(
        workload=f"team/{name}",
        uid=f"uid-{name}",
        owner=Owner(kind="Job", name=name, uid=f"uid-{name}"),
        created_at=at,
        spec=replace(spec, **asked),
    )


def world_with(*jobs: WorkloadSubmitted, found: ClusterQueueObserved | None = None) -> Story:
    told = Story().told(*platform(found or queue()), *jobs)
    told.decided()
    return told


def of(told: Story, name: str, flavor: str) -> Workload:
    return told.world.workloads[variant_key(f"team/{name}", flavor)]


def runs_on(told: Story, name: str) -> str:
    acting = acting_variant(told.world, f"team/{name}")
    return "" if acting is None else acting.spec.allowed_flavors[0]


def stopped(told: Story, name: str) -> PodsGone:
    """What the watcher tells once the pods of a job that was evicted are gone: it knows the job alone."""
    acting = acting_variant(told.world, f"team/{name}")
    assert acting is not None and acting.evicted
    return PodsGone(workload=f"team/{name}", decision=f"LOG_0/{acting.stops.stopped_by}")


def on_spot(policy: ConcurrentAdmission = TRY) -> Story:
    """A job that runs on spot, because others had all the rest."""
    told = world_with(job("first"), job("second", at=1), job("moves", at=2), found=queue(policy))
    assert [runs_on(told, name) for name in ("first", "second", "moves")] == list(FLAVORS)
    return told


def test_a_workload_has_a_variant_for_each_flavor_and_runs_as_the_best_that_gets_in() -> None:
    told = Story().told(*platform(queue()), job("a"))
    said = told.decided()
    made = [one for one in said if isinstance(one, VariantSubmitted)]
    assert [one.flavor for one in made] == list(FLAVORS)
    assert all(one.parent == "team/a" and one.spec.allowed_flavors == (one.flavor,) for one in made)
    assert [one.workload for one in said if isinstance(one, WorkloadAdmitted)] == [made[0].workload]
    off = [(one.workload, one.active, one.message) for one in said if isinstance(one, VariantSwitched)]
    why = f'being lower priority than admitted Variant "{made[0].workload}"'
    assert off == [(one.workload, False, why) for one in made[1:]]
    parent = told.world.workloads["team/a"]
    assert not parent.line and not parent.reserved
    shown = as_shown(told.world, parent)
    condition = shown.condition(ADMITTED)
    assert (
        condition is not None and condition.message == f"The variant {made[0].workload.partition('/')[2]} is admitted"
    )
    assert shown.admission is not None and shown.admission.assignments[0].flavors == {"cpu": "reserved"}


def test_without_the_gate_or_a_policy_it_waits_as_one() -> None:
    for facts in (platform(queue(None)), [SettingsObserved(), *platform(queue())[1:]]):
        told = Story().told(*facts, job("a"))
        said = told.decided()
        assert not any(isinstance(one, VariantSubmitted) for one in said)
        assert told.world.workloads["team/a"].admitted


def test_a_workload_with_allowed_flavors_has_variants_for_these_alone_the_best_first() -> None:
    told = world_with(job("a", allowed_flavors=("spot", "on-demand", "another")))
    assert [one.flavor for one in told.decisions if isinstance(one, VariantSubmitted)] == ["on-demand", "spot"]


def test_an_elastic_job_and_pods_without_a_job_wait_as_one() -> None:
    pod = replace(job("p"), owner=Owner(kind="Pod", name="p", uid="uid-p", api_version="v1"))
    told = Story().told(*platform(queue()), job("e", elastic=True), pod)
    assert not any(isinstance(one, VariantSubmitted) for one in told.decided())


def test_a_job_that_runs_moves_to_a_better_flavor_when_that_has_room() -> None:
    told = on_spot()
    said = told.told(WorkloadFinished(workload="team/second", reason="Succeeded")).decided()
    (move,) = [one for one in said if isinstance(one, MigrationOrdered)]
    assert (move.workload, move.by) == (of(told, "moves", "spot").key, of(told, "moves", "on-demand").key)
    evicted = of(told, "moves", "spot").condition(EVICTED)
    assert evicted is not None and (evicted.reason, evicted.message) == (
        "FlavorMigration",
        "Evicted to accommodate a workload (UID: uid-moves) due to migration to more favorable resource flavor",
    )
    refused = [one for one in said if isinstance(one, AdmissionRefused) and one.workload == move.by][-1]
    assert (refused.requeue, refused.reason) == (RequeueReason.PENDING_MIGRATION, "WaitingForPreemptedWorkloads")
    assert refused.message.endswith(". Pending the migration of 1 workload(s)")
    assert told.world.lines.of("cq").waiting[move.by].rank == 0, "it waits first in line"
    shown = as_shown(told.world, told.world.workloads["team/moves"]).condition(EVICTED)
    assert shown is not None and (shown.reason, shown.message) == ("VariantEvicted", "Admitted variant was evicted")
    said = told.told(stopped(told, "moves")).decided()
    assert [one.workload for one in said if isinstance(one, WorkloadAdmitted)] == [move.by]
    assert runs_on(told, "moves") == "on-demand" and not of(told, "moves", "spot").spec.active
    assert told.world.quota.usage_by_name(told.world.quota.queues["cq"]).get(("spot", "cpu"), 0) == 0


def test_a_job_stays_where_it_got_in_first_where_the_policy_says_so() -> None:
    told = on_spot(ConcurrentAdmission(mode=MigrationMode.RETAIN_FIRST_ADMISSION))
    assert not any(of(told, "moves", one).spec.active for one in ("reserved", "on-demand"))
    said = told.told(WorkloadFinished(workload="team/second", reason="Succeeded")).decided()
    assert not any(isinstance(one, MigrationOrdered) for one in said) and runs_on(told, "moves") == "spot"


def test_a_job_moves_to_no_flavor_below_the_last_acceptable_one() -> None:
    told = on_spot(ConcurrentAdmission(last_acceptable="reserved"))
    assert [of(told, "moves", one).spec.active for one in FLAVORS] == [True, False, True]
    said = told.told(WorkloadFinished(workload="team/second", reason="Succeeded")).decided()
    assert not any(isinstance(one, MigrationOrdered) for one in said)
    said = told.told(WorkloadFinished(workload="team/first", reason="Succeeded")).decided()
    assert [one.by for one in said if isinstance(one, MigrationOrdered)] == [of(told, "moves", "reserved").key]


def test_a_better_flavor_that_is_acceptable_no_more_is_told_so_before_its_variant_is_switched_off() -> None:
    told = on_spot()
    better = of(told, "moves", "on-demand").key
    told.told(queue(ConcurrentAdmission(last_acceptable="reserved")))
    told.told(WorkloadFinished(workload="team/second", reason="Succeeded"))
    said = Admitter().decide(told.world, LogPosition(partition="LOG_0", sequence=told.commits + 1, at=told.at))
    refused = [one.message for one in said if isinstance(one, AdmissionRefused) and one.workload == better]
    assert refused[:1] == ["Target flavor is below LastAcceptableFlavorName"]
    assert not any(isinstance(one, MigrationOrdered) for one in said)


def test_a_variant_of_a_worse_flavor_is_not_tried_while_the_job_runs() -> None:
    told = world_with(job("a"))
    cq = told.world.cluster_queues["cq"]
    barrier = barrier_to(told.world, of(told, "a", "spot"), cq)
    assert barrier is not None and barrier[1] == "A more favorable variant is already admitted"
    assert barrier_to(told.world, of(on_spot(), "moves", "on-demand"), cq) is None


def test_a_job_runs_on_until_the_checks_of_the_better_flavor_are_ready() -> None:
    told = on_spot()
    told.told(queue(checks=(CheckRule(name="nodes", flavors=("on-demand",)),))).decided()
    said = told.told(WorkloadFinished(workload="team/second", reason="Succeeded")).decided()
    better = of(told, "moves", "on-demand")
    assert better.reserved and not any(isinstance(one, MigrationOrdered) for one in said)
    assert runs_on(told, "moves") == "spot" and not of(told, "moves", "spot").evicted
    ready = CheckReported(workload=better.key, check=CheckStatus(name="nodes", state=CheckState.READY))
    said = told.told(ready).decided()
    assert [one.by for one in said if isinstance(one, MigrationOrdered)] == [better.key]
    assert not any(isinstance(one, WorkloadAdmitted) for one in said), "it is to run once at a time"
    told.told(stopped(told, "moves")).decided()
    assert runs_on(told, "moves") == "on-demand"


def test_variants_may_preempt_one_after_the_other_the_one_of_the_best_flavor_first() -> None:
    found = queue(flavors=("reserved", "on-demand"), within=PreemptionPolicy.LOWER_PRIORITY)
    told = world_with(job("first"), job("second", at=1), found=found)
    said = told.told(job("high", priority=9, at=2)).decided()
    opened = [one.workload for one in said if isinstance(one, PreemptionGateOpened)]
    asked = [one.workload for one in said if isinstance(one, PreemptionRequested)]
    assert opened == asked == [of(told, "high", "reserved").key]
    assert of(told, "high", "on-demand").is_true("BlockedOnPreemptionGates")
    assert told.world.next_deadline() is not None
    assert BETWEEN_GATES == 5 * 60 * 1000
    assert not [one for one in told.later(BETWEEN_GATES - 100) if isinstance(one, PreemptionGateOpened)]
    said = told.later(100)
    assert [one.workload for one in said if isinstance(one, PreemptionGateOpened)] == [
        of(told, "high", "on-demand").key
    ]


def test_no_variant_may_preempt_while_one_of_a_better_flavor_has_not_been_tried() -> None:
    found = queue(flavors=("reserved", "on-demand"), within=PreemptionPolicy.LOWER_PRIORITY)
    told = world_with(job("first"), job("second", at=1), found=found)
    told.told(job("high", priority=9, at=2)).decided()
    assert of(told, "high", "on-demand").is_true("BlockedOnPreemptionGates")
    told.told(queue(flavors=("spot", "reserved", "on-demand"), within=PreemptionPolicy.LOWER_PRIORITY))
    said = told.later(BETWEEN_GATES)
    assert not [one for one in said if isinstance(one, PreemptionGateOpened)]
    assert of(told, "high", "spot").condition(QUOTA_RESERVED) is None, "the head waits for its victim"


def test_workloads_that_ask_for_the_same_do_not_wait_for_each_others_variants() -> None:
    told = on_spot(ConcurrentAdmission(last_acceptable="reserved"))
    told.told(job("other", at=3)).decided()
    said = told.told(WorkloadFinished(workload="team/second", reason="Succeeded")).decided()
    assert [one.workload for one in said if isinstance(one, WorkloadAdmitted)] == [of(told, "other", "on-demand").key]


def test_the_end_of_a_job_ends_all_of_its_variants_and_its_deletion_forgets_them() -> None:
    told = world_with(job("a"))
    told.told(WorkloadFinished(workload="team/a", reason="Succeeded", message="done"))
    assert all(one.finished for one in told.world.workloads.values())
    assert not told.decided() and not told.world.holders("cq")
    told.told(WorkloadDeleted(workload="team/a"))
    assert not told.world.workloads and not told.world.variants


def test_a_job_that_is_set_inactive_stops_and_tries_all_flavors_again_when_it_is_set_active() -> None:
    told = world_with(job("a"))
    told.told(WorkloadSwitched(workload="team/a", active=False)).decided()
    assert of(told, "a", "reserved").evicted
    told.told(stopped(told, "a")).decided()
    assert not told.world.holders("cq") and not any(one.spec.active for one in told.world.workloads.values())
    said = told.told(WorkloadSwitched(workload="team/a", active=True)).decided()
    assert [one.workload for one in said if isinstance(one, WorkloadAdmitted)] == [of(told, "a", "reserved").key]
    assert as_shown(told.world, told.world.workloads["team/a"]).condition(EVICTED) is None, "it was, before it ran anew"


def test_the_variant_of_a_flavor_that_the_queue_has_no_more_is_dropped_unless_the_job_runs_as_it() -> None:
    told = on_spot()
    said = told.told(queue(flavors=("reserved",))).decided()
    dropped = {one.workload for one in said if isinstance(one, VariantDropped)}
    assert of(told, "moves", "on-demand").key in dropped and of(told, "moves", "spot").key not in dropped
    assert runs_on(told, "moves") == "spot"


def test_a_workload_whose_queue_lets_in_as_one_waits_as_one_again() -> None:
    told = world_with(job("first"), job("second", at=1), job("third", at=2), job("waits", at=3))
    assert len(variants_of(told.world, "team/waits")) == len(FLAVORS)
    said = told.told(queue(None)).decided()
    assert {one.workload.partition("-variant")[0] for one in said if isinstance(one, VariantDropped)} >= {"team/waits"}
    assert told.world.workloads["team/waits"].line == "cq"


def test_the_time_that_a_job_may_run_is_used_up_by_all_of_its_variants_together() -> None:
    told = world_with(job("first"), job("second", at=1), job("moves", at=2, max_execution=50_000))
    told.at += 40_000
    told.told(WorkloadFinished(workload="team/second", reason="Succeeded")).decided()
    told.told(stopped(told, "moves")).decided()
    assert runs_on(told, "moves") == "on-demand"
    told.later(11_000)
    assert not told.world.workloads["team/moves"].spec.active
    told.told(stopped(told, "moves")).decided()
    assert not any(one.spec.active for one in variants_of(told.world, "team/moves"))


def test_a_rejected_check_rules_out_one_flavor_and_the_last_one_the_whole_job() -> None:
    found = queue(flavors=("reserved", "on-demand"), checks=(CheckRule(name="nodes"),))
    told = world_with(job("a"), found=found)
    for flavor in ("reserved", "on-demand"):
        assert told.world.workloads["team/a"].spec.active
        rejected = CheckStatus(name="nodes", state=CheckState.REJECTED)
        told.told(CheckReported(workload=of(told, "a", flavor).key, check=rejected)).decided()
        assert not of(told, "a", flavor).spec.active
    assert not told.world.workloads["team/a"].spec.active


def test_a_workload_that_waits_says_what_each_of_its_variants_waits_for() -> None:
    told = world_with(job("first"), job("second", at=1), job("third", at=2), job("waits", at=3))
    shown = as_shown(told.world, told.world.workloads["team/waits"]).condition(QUOTA_RESERVED)
    assert shown is not None and shown.reason == "WaitingForQuota"
    assert all(f"{one}: " in shown.message for one in FLAVORS)


@pytest.mark.parametrize(("sizes", "reason"), [((10, 5), "WaitingForQuota"), ((5, 10), "ExceedsMaxQuota")])
def test_a_workload_that_waits_shows_the_reason_of_its_best_variant(sizes: tuple[int, int], reason: str) -> None:
    found = queue(flavors=("reserved", "on-demand"))
    (group,) = found.groups
    flavors = tuple(
        replace(one, quotas=(Quota(resource="cpu", nominal=size),))
        for one, size in zip(group.flavors, sizes, strict=True)
    )
    told = world_with(job("first"), found=replace(found, groups=(replace(group, flavors=flavors),)))
    told.told(job("waits", at=1)).decided()
    shown = as_shown(told.world, told.world.workloads["team/waits"]).condition(QUOTA_RESERVED)
    assert shown is not None and shown.reason == reason


def test_a_saved_world_has_the_same_variants() -> None:
    told = on_spot()
    again = world_of(tables_of(told.world))
    assert state_hash(again) == state_hash(told.world)
    assert again.variants == told.world.variants


def test_quota_is_reserved_for_variants_alone() -> None:
    said = Story().told(*platform(queue()), job("a")).decided()
    assert {one.workload for one in said if isinstance(one, QuotaReserved)} == {variant_key("team/a", "reserved")}


def test_why_a_workload_waits_names_each_of_its_variants() -> None:
    told = world_with(job("first"), job("second", at=1), job("third", at=2), job("waits", at=3))
    found = find_workload(told.world, "job/team/waits")
    assert found is not None and found.key == "team/waits"
    why = explain(told.world, found, told.at)
    assert why.state == "pending" and [one.partition(": workload ")[0] for one in why.waits_for] == list(FLAVORS)
    running = explain(told.world, told.world.workloads["team/first"], told.at)
    assert running.state == "admitted"


@pytest.mark.parametrize(
    ("cohort", "cpu", "stop", "tier"),
    [
        ("", 10, StopPolicy.NONE, Tier.QUEUE),
        ("pool", 10, StopPolicy.NONE, Tier.COHORT),
        ("pool", 11, StopPolicy.NONE, Tier.QUEUE),
        ("pool", 10, StopPolicy.HOLD, Tier.QUEUE),
    ],
)
def test_a_workload_whose_variants_wait_is_told_of_the_cohort_only_where_that_is_short(
    cohort: str, cpu: int, stop: StopPolicy, tier: Tier
) -> None:
    told = world_with(*(job(name) for name in "abc"), found=replace(queue(), cohort=cohort))
    told.told(replace(queue(), cohort=cohort, stop=stop), job("waits", cpu=cpu, at=4)).decided()
    why = explain(told.world, told.world.workloads["team/waits"], told.at)
    assert (why.state, why.tier) == ("pending", tier)
    assert bool(why.fix) is (cpu > 10 or stop is not StopPolicy.NONE)


def test_a_job_is_counted_once_whichever_variants_it_runs_as_and_those_that_never_ran_are_not() -> None:
    counters = QueueCounters()
    told = on_spot()
    told.told(WorkloadFinished(workload="team/second", reason="Succeeded")).decided()
    told.told(stopped(told, "moves")).decided()
    for fact in (job("first"), job("second"), job("moves")):
        counters.fold(fact, 0)
    for at, event in enumerate(told.decisions):
        counters.fold(event, at)
    counted = {key[0]: 0 for key in counters.counts}
    for key, number in counters.counts.items():
        counted[key[0]] += number
    assert counted["kueue_admitted_workloads_total"] == counted["kueue_quota_reserved_workloads_total"] == 4
    evicted = {key: number for key, number in counters.counts.items() if key[0] == "kueue_evicted_workloads_total"}
    assert sum(evicted.values()) == 1 and "FlavorMigration" in next(iter(evicted))


def stands(told: Story) -> Counter[tuple[str, str, str]]:
    """How many are not admitted, by cluster queue, reason and cause."""
    return Counter((one.cluster_queue, one.reason, one.cause) for one in unadmitted(told.world))


def test_a_job_is_counted_once_among_those_that_are_not_admitted_and_not_at_all_while_it_runs() -> None:
    told = world_with(job("first"), job("second", at=1), job("third", at=2), job("waits", at=3))
    assert stands(told) == {("cq", "NoReservation", "WaitingForQuota"): 1}
    told.told(WorkloadFinished(workload="team/third", reason="Succeeded")).decided()
    assert not stands(told)
    told.told(WorkloadSwitched(workload="team/waits", active=False)).decided()
    told.told(stopped(told, "waits")).decided()
    assert stands(told) == {("cq", "NoReservation", "Deactivated"): 1}


def test_a_job_of_which_a_variant_waits_for_its_checks_shows_no_quota_and_counts_as_without() -> None:
    told = world_with(job("a"), found=queue(flavors=FLAVORS[:1], checks=(CheckRule(name="nodes"),)))
    assert of(told, "a", "reserved").reserved
    shown = as_shown(told.world, told.world.workloads["team/a"]).condition(QUOTA_RESERVED)
    assert shown is not None and (shown.status, shown.reason) == (ConditionStatus.FALSE, "PendingEvaluation")
    assert stands(told) == {("cq", "NoReservation", "PendingEvaluation"): 1}


def test_counters_that_were_stored_know_as_which_variant_a_job_runs() -> None:
    told, straight = on_spot(), QueueCounters()
    for fact in (job("first"), job("second"), job("moves")):
        straight.fold(fact, 0)
    for at, event in enumerate(told.decisions):
        straight.fold(event, at)
    again, begun = QueueCounters(), QueueCounters()
    again.begin_at(straight.so_far())
    begun.begin_at(counted_in(told.world, straight.so_far()))
    before = len(told.decisions)
    told.told(WorkloadFinished(workload="team/second", reason="Succeeded")).decided()
    told.told(stopped(told, "moves")).decided()
    for counters in (straight, again, begun):
        for at, event in enumerate(told.decisions[before:], before):
            counters.fold(event, at)
    assert again.counts == straight.counts == begun.counts


def test_of_variants_that_are_ready_at_the_same_time_the_best_is_admitted_alone() -> None:
    told = world_with(job("a"), found=queue(checks=(CheckRule(name="nodes"),)))
    variants = variants_of(told.world, "team/a")
    assert all(one.reserved for one in variants) and not acting_variant(told.world, "team/a")
    ready = CheckStatus(name="nodes", state=CheckState.READY)
    said = told.told(*(CheckReported(workload=one.key, check=ready) for one in variants)).decided()
    assert [one.workload for one in said if isinstance(one, WorkloadAdmitted)] == [of(told, "a", "reserved").key]
    assert not any(isinstance(one, MigrationOrdered) for one in said)
    assert [one.key for one in variants_of(told.world, "team/a") if one.reserved] == [of(told, "a", "reserved").key]


def test_a_job_that_got_in_as_one_stays_so_when_its_queue_lets_in_on_several_flavors_again() -> None:
    held = replace(queue(flavors=FLAVORS[:1]), stop=StopPolicy.HOLD)
    told = world_with(job("a"), found=held)
    assert len(variants_of(told.world, "team/a")) == 1
    told.told(replace(held, concurrent=None)).decided()
    told.told(queue(None)).decided()
    assert told.world.workloads["team/a"].admitted
    assert not told.told(queue()).decided() and not variants_of(told.world, "team/a")
    told.told(WorkloadFinished(workload="team/a", reason="Succeeded")).decided()
    assert all(one.finished for one in told.world.workloads.values())


def test_a_variant_that_fits_nowhere_is_told_of_the_better_one_that_runs_with_shortcuts_as_without() -> None:
    found = queue(flavors=FLAVORS[:2], checks=(CheckRule(name="nodes"),))
    (group,) = found.groups
    best, other = group.flavors
    none = replace(other, quotas=(Quota(resource="cpu", nominal=0),))
    rules = PreemptionRules(reclaim_within_cohort=PreemptionPolicy.ANY, minimum_runtime=1000)
    told = world_with(job("a"), found=replace(found, groups=(replace(group, flavors=(best, none)),), preemption=rules))
    held = of(told, "a", "reserved")
    assert held.reserved and not held.admitted
    ready = CheckReported(workload=held.key, check=CheckStatus(name="nodes", state=CheckState.READY))
    said = told.told(ready).decided()
    refused = [one for one in said if isinstance(one, AdmissionRefused)]
    assert [(one.workload, one.message) for one in refused] == [
        (of(told, "a", "on-demand").key, "A more favorable variant is already admitted")
    ]
