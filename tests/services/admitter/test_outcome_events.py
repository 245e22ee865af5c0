from msgspec.structs import replace

from events.admission import AdmissionRefused, Mode, PreemptionRequested, QuotaReserved, Verdict
from events.quota import (
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    PreemptionPolicy,
    QueueingStrategy,
    StopPolicy,
)
from events.settings import SettingsObserved
from events.workload import WorkloadChanged, WorkloadFinished
from tests.stories.small_world import GPU, Story, job, platform, queue


def considered(event: AdmissionRefused | PreemptionRequested) -> list[tuple[str, Verdict]]:
    return [(one.workload, one.verdict) for one in event.candidates]


def test_a_request_says_who_was_taken_and_who_was_passed_over() -> None:
    told = Story().told(*platform(nominal=2, cards=1), job("low"), job("equal", priority=10))
    told.decided()
    said = told.told(job("high", priority=10)).decided()
    (request,) = [event for event in said if isinstance(event, PreemptionRequested)]
    assert considered(request) == [("team/low", Verdict.TAKEN), ("team/equal", Verdict.PRIORITY)]
    assert request.holders == 2


def test_a_refusal_says_in_numbers_what_is_missing_and_why_nobody_makes_room() -> None:
    mine = queue("mine", nominal=2, reclaim=PreemptionPolicy.ANY, cohort="pool")
    told = Story().told(*platform(nominal=2, cards=2, cohort="pool"), mine)
    told.told(LocalQueueObserved(namespace="team", name="mine", cluster_queue="mine"))
    told.told(job("theirs"), job("theirs-too"), job("own", queue="mine"), job("own-too", queue="mine"))
    told.decided()
    said = told.told(job("more", queue="mine")).decided()
    (refusal,) = [event for event in said if isinstance(event, AdmissionRefused)]
    (cards,) = [attempt for attempt in refusal.attempts if attempt.resource == GPU]
    assert (cards.mode, cards.asked, cards.available, cards.missing, cards.potential) == (
        Mode.NO_CANDIDATES,
        1,
        0,
        1,
        4,
    )
    forbidden, within = Verdict.POLICY_FORBIDS, Verdict.WITHIN_NOMINAL
    assert considered(refusal) == [
        ("team/own", forbidden),
        ("team/own-too", forbidden),
        ("team/theirs", within),
        ("team/theirs-too", within),
    ]


def test_a_refusal_says_that_who_borrows_stays_while_its_queue_is_stopped() -> None:
    mine = queue("mine", nominal=2, reclaim=PreemptionPolicy.ANY, cohort="pool")
    told = Story().told(*platform(nominal=0, cards=2, cohort="pool"), mine)
    told.told(LocalQueueObserved(namespace="team", name="mine", cluster_queue="mine"), job("theirs"))
    told.decided()
    stopped = replace(told.world.cluster_queues["cq"], stop=StopPolicy.HOLD)
    told.told(stopped)
    said = told.told(job("own", queue="mine", count=2)).decided()
    (refusal,) = [event for event in said if isinstance(event, AdmissionRefused)]
    assert considered(refusal) == [("team/theirs", Verdict.INACTIVE)]
    said = told.told(replace(stopped, stop=StopPolicy.NONE)).decided()
    (request,) = [event for event in said if isinstance(event, PreemptionRequested)]
    assert considered(request) == [("team/theirs", Verdict.TAKEN)], "as soon as the queue goes on"


def test_a_blocked_preemptor_learns_why_each_holder_stays() -> None:
    told = Story().told(*platform(nominal=2, cards=1), job("a"), job("b"))
    told.decided()
    said = told.told(job("c")).decided()
    (refusal,) = [event for event in said if isinstance(event, AdmissionRefused)]
    assert considered(refusal) == [("team/a", Verdict.PRIORITY), ("team/b", Verdict.PRIORITY)]
    assert told.decided() == [], "what is known already is not told again"


def test_who_is_refused_for_the_same_cause_and_asks_for_more_by_now_is_told_with_what() -> None:
    """Its object shows what it would be charged (status.resourceRequests)."""
    one = job("a", count=1)
    (pods,) = one.spec.pod_sets
    nowhere = replace(pods, shape=replace(pods.shape, node_selector={"card": "another"}))

    def asking(count: int) -> WorkloadChanged:
        return WorkloadChanged(
            workload="team/a", spec=replace(one.spec, pod_sets=(nowhere, replace(pods, name="more", count=count)))
        )

    told = Story().told(*platform(nominal=8), replace(queue("cq", nominal=8), strategy=QueueingStrategy.STRICT_FIFO))
    told.told(replace(one, spec=asking(1).spec)).decided()
    (refusal,) = [event for event in told.told(asking(2)).decided() if isinstance(event, AdmissionRefused)]
    assert "doesn't match node affinity" in refusal.message
    assert [(pod_set.name, pod_set.count) for pod_set in refusal.requests] == [("main", 1), ("more", 2)]
    assert told.decided() == []


def test_the_head_of_a_strict_queue_that_was_stopped_meanwhile_is_told_again_why_it_waits() -> None:
    strict = replace(queue("cq", nominal=1), strategy=QueueingStrategy.STRICT_FIFO)
    told = Story().told(*platform(nominal=1), strict, job("too-large", count=2))
    (refusal,) = [event for event in told.decided() if isinstance(event, AdmissionRefused)]
    told.told(replace(strict, stop=StopPolicy.HOLD)).decided()
    again = [event for event in told.told(strict).decided() if isinstance(event, AdmissionRefused)]
    assert [(one.reason, one.message) for one in again] == [(refusal.reason, refusal.message)]
    assert told.decided() == []


def two_flavors(*, first: int, second: int, cohort: str = "") -> Story:
    """`cq` has so many cards of two flavors."""
    told = Story().told(*platform(nominal=first, cohort=cohort), FlavorObserved(name="other"))
    cq = told.world.cluster_queues["cq"]
    (group,) = cq.groups
    (v100,) = group.flavors
    quotas = tuple(replace(one, nominal=one.nominal // max(first, 1) * second) for one in v100.quotas)
    other = FlavorQuotas(flavor="other", quotas=quotas)
    told.told(replace(cq, groups=(replace(group, flavors=(v100, other)),)))
    return told.told(SettingsObserved(devices=False))


def test_a_reservation_says_which_flavors_were_passed_over_and_why() -> None:
    told = two_flavors(first=1, second=1).told(job("holds"))
    told.decided()
    said = told.told(job("next")).decided()
    (reserved,) = [event for event in said if isinstance(event, QuotaReserved)]
    assert reserved.assignments[0].flavors[GPU] == "other"
    assert {(one.flavor, one.mode) for one in reserved.considered} == {("v100", Mode.NO_CANDIDATES)}
    (cards,) = [one for one in reserved.considered if one.resource == GPU]
    assert cards.message == f"insufficient unused quota for {GPU} in flavor v100, 1 more needed"


def test_a_refusal_says_of_every_flavor_how_much_is_missing_and_who_borrows_it() -> None:
    told = two_flavors(first=2, second=2, cohort="pool")
    told.told(queue("thief", nominal=0, cohort="pool"))
    told.told(LocalQueueObserved(namespace="team", name="thief", cluster_queue="thief"))
    told.told(job("lent", queue="thief")).decided()
    told.told(job("other", count=2)).decided()
    said = told.told(job("more", count=2)).decided()
    (refusal,) = [event for event in said if isinstance(event, AdmissionRefused)]
    found = {one.flavor: one for one in refusal.attempts if one.resource == GPU}
    assert {name: (one.asked, one.available, one.missing, one.holders) for name, one in found.items()} == {
        "v100": (2, 1, 1, ("thief",)),
        "other": (2, 0, 2, ()),
    }


def test_who_is_tried_again_and_refused_as_before_is_told_nothing() -> None:
    told = Story().told(*platform(nominal=4), job("small"), job("large", count=3), job("giant", count=4))
    told.decided()
    assert not [event for event in told.told(WorkloadFinished(workload="team/small", reason="Succeeded")).decided()]
