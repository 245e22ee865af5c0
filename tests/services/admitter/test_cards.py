"""Victims are chosen by the cards that they free, when quota is there and cards are not."""

from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.card import Card, CardShare
from events.control import ObjectRemoved
from events.device import DevicesRegistered, NodeObserved, PodObserved
from events.preemption import PreemptionOrdered
from events.quota import BorrowWithinCohort, LocalQueueObserved, PreemptionPolicy
from events.settings import DevicePolicy, SettingsObserved
from events.workload import PodsGone, WorkloadFinished
from tests.stories.small_world import Story, job, platform, queue

LOWER = PreemptionPolicy.LOWER_PRIORITY


def preempted(said: list[object]) -> list[str]:
    return [event.workload for event in said if isinstance(event, PreemptionOrdered)]


def gone(told: Story, key: str) -> list[object]:
    return list(
        told.told(PodsGone(workload=key, decision=f"LOG_0/{told.world.workloads[key].stops.stopped_by}")).decided()
    )


def two_cards_in_use() -> Story:
    """On one card a job that holds nearly all of it, on the other two that share it; the smallest came last."""
    told = Story().told(*platform(nominal=40, cards=2))
    for name, memory in (("whole", 30000), ("part", 20000), ("scrap", 5000)):
        told.told(job(name, memory=memory, cores=30)).decided()
    return told


def test_the_one_victim_goes_whose_card_is_of_use_though_others_come_first_in_order() -> None:
    told = two_cards_in_use()
    said = list(told.told(job("urgent", memory=32000, cores=50, priority=10)).decided())
    assert [e.workload for e in said if isinstance(e, PreemptionRequested)] == ["team/urgent"]
    assert preempted(said) == ["team/whole"]
    said = gone(told, "team/whole")
    assert "team/urgent" in [e.workload for e in said if isinstance(e, WorkloadAdmitted)]


def test_several_go_only_when_no_single_one_suffices_and_none_without_need() -> None:
    told = Story().told(*platform(nominal=40, cards=1))
    for name, memory in (("a", 12000), ("b", 12000), ("c", 6000)):
        told.told(job(name, memory=memory, cores=20)).decided()
    said = list(told.told(job("urgent", memory=24000, cores=20, priority=10)).decided())
    assert sorted(preempted(said)) == ["team/a", "team/b"]


def test_nobody_goes_while_cards_are_on_their_way_back() -> None:
    told = two_cards_in_use()
    told.told(job("urgent", memory=32000, cores=50, priority=10)).decided()
    again = list(told.told(job("also", memory=1000, cores=10, priority=5)).decided())
    assert preempted(again) == []


def test_a_request_that_no_card_could_ever_hold_preempts_nobody() -> None:
    told = two_cards_in_use()
    said = list(told.told(job("giant", memory=60000, priority=10)).decided())
    assert preempted(said) == []
    assert [e.reason for e in said if isinstance(e, AdmissionRefused)] == ["ExceedsCardCapacity"]


def test_a_gang_beyond_what_the_cards_offer_is_told_so_where_the_policy_is_cap() -> None:
    for policy, reason in ((DevicePolicy.CAP, "ExceedsMaxQuota"), (DevicePolicy.IGNORE, "WaitingForDevices")):
        told = Story().told(SettingsObserved(device_policies={"v100": policy}), *platform(nominal=40, cards=2))
        said = told.told(job("many", count=30, memory=20000)).decided()
        refused = [event for event in said if isinstance(event, AdmissionRefused)]
        assert [event.reason for event in refused] == [reason]
    told = Story().told(
        SettingsObserved(device_policies={"v100": DevicePolicy.CAP}), *platform(nominal=40, cards=2), job("one")
    )
    assert [e.workload for e in told.decided() if isinstance(e, WorkloadAdmitted)] == ["team/one"]


def test_a_queue_within_its_nominal_quota_keeps_its_cards() -> None:
    other = queue("other", nominal=40, reclaim=PreemptionPolicy.ANY, cohort="pool")
    told = Story().told(*platform(nominal=40, cards=1, cohort="pool"), other)
    told.told(LocalQueueObserved(namespace="team", name="other", cluster_queue="other"))
    told.told(job("held", memory=30000)).decided()
    said = list(told.told(job("stranger", memory=30000, queue="other", priority=10)).decided())
    assert preempted(said) == []
    assert not [e for e in said if isinstance(e, QuotaReserved)]


def test_whoever_waits_for_cards_on_their_way_back_keeps_his_place_before_others() -> None:
    told = Story().told(*platform(nominal=2, cards=1))
    told.told(job("victim", memory=30000)).decided()
    share = CardShare(uuid="GPU-0", vendor="NVIDIA", memory=30000, cores=50, index=0)
    pod = PodObserved(namespace="team", name="p", uid="p", node="n1", workload="team/victim", shares=((share,),))
    told.told(pod).decided()
    said = list(told.told(job("urgent", memory=30000, priority=10)).decided())
    assert preempted(said) == ["team/victim"]
    told.told(job("small", memory=5000, cores=10)).decided()
    said = gone(told, "team/victim")
    assert not [e for e in said if isinstance(e, QuotaReserved)], "the pod still holds its card"
    refused = [(e.workload, e.reason, e.message) for e in said if isinstance(e, AdmissionRefused)]
    assert ("team/urgent", "WaitingForDevices", "Its cards are on their way back") in refused
    said = list(told.told(ObjectRemoved(kind="Pod", namespace="team", name="p")).decided())
    assert [e.workload for e in said if isinstance(e, WorkloadAdmitted)] == ["team/urgent"]
    assert preempted(said) == []


def held_by_a_borrower(
    *, within: BorrowWithinCohort | None, nominal: int = 1, fair: bool = False
) -> tuple[Story, list[object]]:
    """A queue of a cohort borrows both cards; then `urgent` asks another for two, whole, though quota would do."""
    told = Story().told(*platform(nominal=1, cards=2, cohort="all"))
    own = queue("own", nominal=nominal, within=LOWER, reclaim=LOWER, cohort="all")
    told.told(
        SettingsObserved(fair_sharing=fair),
        replace(own, preemption=replace(own.preemption, borrow_within_cohort=within)),
        queue("spare", nominal=40, cohort="all"),
        LocalQueueObserved(namespace="team", name="other", cluster_queue="own"),
    )
    told.told(job("foreign", count=2, memory=20000)).decided()
    assert told.world.workloads["team/foreign"].admitted
    return told, list(told.told(job("urgent", count=2, memory=20000, priority=10, queue="other")).decided())


def test_who_would_borrow_takes_no_cards_of_others_by_priority() -> None:
    told, said = held_by_a_borrower(within=None)
    assert preempted(said) == []
    assert not told.world.workloads["team/urgent"].reserved


def test_who_would_borrow_takes_the_cards_of_others_that_borrow_within_cohort_gives() -> None:
    allowed = BorrowWithinCohort(policy=LOWER, max_priority_threshold=0)
    assert preempted(held_by_a_borrower(within=allowed)[1]) == ["team/foreign"]
    beyond = BorrowWithinCohort(policy=LOWER, max_priority_threshold=-1)
    assert preempted(held_by_a_borrower(within=beyond)[1]) == []


def test_who_stays_within_its_own_quota_takes_back_cards_from_those_that_borrow() -> None:
    assert preempted(held_by_a_borrower(within=None, nominal=4)[1]) == ["team/foreign"]


def test_under_fair_sharing_it_does_not_matter_for_cards_who_would_borrow() -> None:
    assert preempted(held_by_a_borrower(within=None, fair=True)[1]) == ["team/foreign"]


def test_who_borrows_takes_cards_within_its_own_queue() -> None:
    told, _ = held_by_a_borrower(within=None)
    told.told(WorkloadFinished(workload="team/foreign", reason="Succeeded")).decided()
    assert told.world.workloads["team/urgent"].admitted
    said = list(told.told(job("above", count=2, memory=20000, priority=20, queue="other")).decided())
    assert preempted(said) == ["team/urgent"]


def test_nobody_goes_for_who_counts_on_cards_that_are_on_their_way_back_to_another() -> None:
    told = Story().told(*platform(nominal=2, cards=2, cohort="all"))
    told.told(
        queue("other", nominal=2, within=LOWER, cohort="all"),
        queue("spare", nominal=40, cohort="all"),
        LocalQueueObserved(namespace="team", name="other", cluster_queue="other"),
    )
    told.told(job("mine", memory=30000)).decided()
    told.told(job("theirs", memory=30000, queue="other")).decided()
    share = CardShare(uuid="GPU-0", vendor="NVIDIA", memory=30000, cores=50, index=0)
    pod = PodObserved(namespace="team", name="p", uid="p", node="n1", workload="team/mine", shares=((share,),))
    told.told(pod).decided()
    told.told(job("urgent", memory=30000, priority=10)).decided()
    gone(told, "team/mine")
    said = list(told.told(job("large", count=2, memory=20000, priority=20, queue="other")).decided())
    assert preempted(said) == [], "`urgent`, which borrows nothing, comes first for the card of `mine`"
    told.told(ObjectRemoved(kind="Pod", namespace="team", name="p")).decided()
    assert told.world.workloads["team/urgent"].admitted and told.world.workloads["team/theirs"].admitted


def two_victims_of_one() -> Story:
    """Two low jobs of a queue that borrows hold a card each, on which pods of theirs still stop; `urgent` of another needs both."""
    told = Story().told(*platform(nominal=1, cards=2, cohort="all"))
    told.told(
        queue("own", nominal=4, reclaim=PreemptionPolicy.ANY, cohort="all"),
        queue("spare", nominal=40, cohort="all"),
        LocalQueueObserved(namespace="team", name="other", cluster_queue="own"),
    )
    for name in ("first", "second"):
        told.told(job(name, memory=20000)).decided()
        [held] = told.world.cards.attempts_of(f"team/{name}")
        shares = held.placements[0].containers
        told.told(
            PodObserved(namespace="team", name=name, uid=name, node="n1", workload=f"team/{name}", shares=shares)
        ).decided()
    said = list(told.told(job("urgent", count=2, memory=20000, queue="other")).decided())
    assert sorted(preempted(said)) == ["team/first", "team/second"]
    return told


def test_what_the_first_victim_has_left_is_not_given_to_others_before_the_last_has_gone() -> None:
    told = two_victims_of_one()
    told.told(ObjectRemoved(kind="Pod", namespace="team", name="first"))
    said = gone(told, "team/first")
    assert not [e for e in said if isinstance(e, QuotaReserved | PreemptionRequested)], (
        "it would be preempted for `urgent`"
    )
    said = list(told.told(job("third", memory=20000)).decided())
    assert not [e for e in said if isinstance(e, QuotaReserved | PreemptionRequested)]
    told.told(ObjectRemoved(kind="Pod", namespace="team", name="second"))
    said = gone(told, "team/second")
    assert [e.workload for e in said if isinstance(e, WorkloadAdmitted)] == ["team/urgent"]
    assert preempted(told.decisions).count("team/first") == 1


def test_who_waits_for_victims_keeps_nobody_from_cards_that_it_does_not_need() -> None:
    told = two_victims_of_one()
    card = Card(uuid="GPU-9", index=9, slots=10, memory=32768, model="NVIDIA-V100")
    told.told(NodeObserved(name="n2", labels={"card": "v100"}), DevicesRegistered(node="n2", cards=(card,)))
    said = list(told.told(job("small", memory=4000, cores=10)).decided())
    assert [e.workload for e in said if isinstance(e, WorkloadAdmitted)] == ["team/small"]
    assert preempted(said) == []
