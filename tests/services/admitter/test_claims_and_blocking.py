from msgspec.structs import replace

from events.admission import AdmissionRefused, QuotaReserved, WorkloadAdmitted
from events.pod_set import ContainerShape, PodShape
from events.preemption import PreemptionOrdered, PreemptionWasted, RoomClaimed
from events.quota import AdmissionCheckObserved, CheckRule, LocalQueueObserved, PreemptionPolicy
from events.settings import PodsReadyRule, SettingsObserved
from events.workload import EvictionCount, PodsReady
from projections.preemption.claims import claimed_room
from projections.preemption.loops import IN_VAIN, preempted_in_vain
from tests.stories.small_world import GPU, Story, gone, job, platform, queue


def three_queues(*, claims: bool) -> Story:
    """`lender` and `other` have lent everything to `cq`; `lender` takes it back by preemption."""
    lender = queue("lender", nominal=2, reclaim=PreemptionPolicy.ANY, cohort="pool")
    lender = replace(lender, preemption=replace(lender.preemption, claims=claims))
    told = Story().told(*platform(nominal=0, cards=2, cohort="pool"), lender, queue("other", nominal=2, cohort="pool"))
    for name in ("lender", "other"):
        told.told(LocalQueueObserved(namespace="team", name=name, cluster_queue=name))
    told.told(*(job(name) for name in "abcd"))
    told.decided()
    return told


def reserved(said: list[object]) -> list[str]:
    return [event.workload for event in said if isinstance(event, QuotaReserved)]


def test_what_victims_give_back_is_kept_for_the_one_that_asked_for_it() -> None:
    told = three_queues(claims=True)
    said = told.told(job("owner", queue="lender", count=2)).decided()
    assert sorted(e.workload for e in said if isinstance(e, PreemptionOrdered)) == ["team/a", "team/b"]
    assert [e.preemptor for e in said if isinstance(e, RoomClaimed)] == ["team/owner"]
    told.told(job("thief", queue="other", priority=9))
    assert not reserved(list(gone(told, "a").decided())), "the room of one victim is kept until the other has left"
    assert reserved(list(gone(told, "b").decided())) == ["team/owner"]
    assert not told.world.claims


def test_a_victim_that_has_left_and_come_back_holds_nothing_of_the_room_any_more() -> None:
    told = three_queues(claims=True)
    told.told(job("owner", queue="lender", count=2)).decided()
    gone(told, "a")
    claim = told.world.claims["team/owner"]
    assert claim.victims == ("team/a", "team/b") and all(claim.admissions)
    victim = told.world.workloads["team/b"]
    assert victim.admission is not None

    def kept() -> int:
        (usage,) = (usage for _, usage in claimed_room(told.world).values())
        return usage.get(told.world.quota.column("v100", GPU), 0)

    before = kept()
    again = replace(victim, admission=replace(victim.admission, reservation=victim.admission.reservation + 100))
    told.world.put_workload(again)
    assert (before, kept()) == (0, 1), "what it holds now is not what it was to give back"
    told.world.claims["team/owner"] = replace(claim, admissions=())
    assert kept() == 0, "claims of old logs mean whatever their victims hold"


def test_without_a_claim_the_room_goes_to_whoever_comes_first() -> None:
    told = three_queues(claims=False)
    told.told(job("owner", queue="lender", count=2)).decided()
    told.told(job("thief", queue="other", priority=9))
    assert reserved(list(gone(told, "a").decided())) == ["team/thief"]


def test_a_claim_ends_and_lets_the_others_in() -> None:
    told = three_queues(claims=True)
    told.told(job("owner", queue="lender", count=2)).decided()
    claimed = told.at
    gone(told, "a").told(job("thief", queue="other", priority=9)).decided()
    told.at = claimed + 10 * 60 * 1000 - 1
    assert not told.decided(), "nothing ends before ten minutes are over"
    told.at += 1
    said = told.decided()
    assert [e.reason for e in said if isinstance(e, PreemptionWasted)] == ["ClaimExpired"]
    assert reserved(list(said)) == ["team/thief"]


def test_admission_waits_until_the_pods_of_all_that_was_admitted_are_ready() -> None:
    rule = PodsReadyRule(timeout=600_000, block_admission=True)
    told = Story().told(SettingsObserved(pods_ready=rule), *platform(), job("a"), job("b"))
    said = told.decided()
    assert [e.workload for e in said if isinstance(e, WorkloadAdmitted)] == ["team/a"]
    assert [e.reason for e in said if isinstance(e, AdmissionRefused)] == ["WaitingForPodsReady"]
    said = told.told(PodsReady(workload="team/a", ready=True)).decided()
    assert [e.workload for e in said if isinstance(e, WorkloadAdmitted)] == ["team/b"]


def test_who_waits_for_its_checks_holds_up_nobody_whose_pods_could_start() -> None:
    rule = PodsReadyRule(timeout=600_000, block_admission=True)
    told = Story().told(
        SettingsObserved(pods_ready=rule),
        *platform(),
        AdmissionCheckObserved(name="k", controller="example.com/nobody", active=True),
        replace(queue("checked", nominal=2), checks=(CheckRule(name="k"),)),
        LocalQueueObserved(namespace="team", name="checked", cluster_queue="checked"),
        job("waits", queue="checked"),
    )
    assert reserved(list(told.decided())) == ["team/waits"]
    said = told.told(job("a")).decided()
    assert [one.workload for one in said if isinstance(one, WorkloadAdmitted)] == ["team/a"]


def test_one_that_gets_in_holds_up_the_others_of_its_cycle_and_one_that_waits_for_its_checks_does_not() -> None:
    rule = PodsReadyRule(timeout=600_000, block_admission=True)
    for checks, let_in in (((), ["team/a"]), ((CheckRule(name="k"),), ["team/a", "team/b"])):
        told = Story().told(
            SettingsObserved(pods_ready=rule),
            *platform(cohort="pool"),
            AdmissionCheckObserved(name="k", controller="example.com/nobody", active=True),
            replace(queue("first", nominal=2, cohort="pool"), checks=checks),
            LocalQueueObserved(namespace="team", name="first", cluster_queue="first"),
            job("a", queue="first"),
            job("b", at=1),
        )
        said = list(told.decided())
        assert reserved(said) == let_in
        refused = [one.workload for one in said if isinstance(one, AdmissionRefused)]
        assert refused == [] if checks else refused == ["team/b"]


def test_who_preempts_the_same_one_in_vain_again_and_again_has_its_room_kept() -> None:
    """It could have fewer pods, and gets in as a whole once there is room, where whoever left has precedence."""
    lender = queue("lender", nominal=1, reclaim=PreemptionPolicy.ANY, cohort="pool")
    told = Story().told(*platform(nominal=3, cards=4, cohort="pool"), lender)
    told.told(LocalQueueObserved(namespace="team", name="lender", cluster_queue="lender"))
    told.told(job("stays", count=2, priority=9), job("goes", count=2, priority=9)).decided()
    owner = job("owner", queue="lender", count=2)
    (pods,) = owner.spec.pod_sets
    owner = replace(owner, spec=replace(owner.spec, pod_sets=(replace(pods, minimum=1),)))
    said = list(told.told(owner).decided())
    assert [e.workload for e in said if isinstance(e, PreemptionOrdered)] == ["team/goes"]
    # Whoever has not begun to run leaves at once from now on.
    said = list(gone(told, "goes").decided())
    ordered = [(e.workload, e.preemptor) for e in said if isinstance(e, PreemptionOrdered)]
    assert ordered == [("team/goes", "team/owner")] * IN_VAIN
    assert [e.preemptor for e in said if isinstance(e, RoomClaimed)] == ["team/owner"]
    assert reserved(said) == ["team/goes"] * IN_VAIN + ["team/owner"]
    assert not told.world.claims and not told.later(600_000)


def test_a_workload_that_was_let_in_meanwhile_has_not_preempted_in_vain() -> None:
    told = three_queues(claims=False)
    told.told(job("owner", queue="lender", count=1)).decided()
    (victim,) = [one for one in told.world.workloads.values() if one.stops.preempted_by]
    owner = told.world.workloads["team/owner"]
    often = replace(victim, stops=replace(victim.stops, preempted_by=((owner.key, IN_VAIN),)))
    assert preempted_in_vain(owner, often) == IN_VAIN
    once = EvictionCount(reason="Preempted", count=1)
    assert preempted_in_vain(replace(owner, stops=replace(owner.stops, evictions=(once,))), often) == IN_VAIN - 1


def test_who_asks_for_nothing_that_is_counted_waits_for_a_check_that_names_all_flavors_of_its_queue() -> None:
    told = Story().told(
        *platform(),
        AdmissionCheckObserved(name="k", controller="example.com/nobody", active=True),
        replace(queue("checked", nominal=2), checks=(CheckRule(name="k", flavors=("v100",)),)),
        LocalQueueObserved(namespace="team", name="checked", cluster_queue="checked"),
    )
    asks = job("small", queue="checked")
    sets = tuple(replace(one, shape=PodShape(containers=(ContainerShape(name="main"),))) for one in asks.spec.pod_sets)
    said = told.told(replace(asks, spec=replace(asks.spec, pod_sets=sets))).decided()
    assert [one.checks for one in said if isinstance(one, QuotaReserved)] == [("k",)]
    assert not any(isinstance(one, WorkloadAdmitted) for one in said)
