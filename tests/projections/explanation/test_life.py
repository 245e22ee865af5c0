"""What the life of an object is told as."""

from events.catalogue import AnyEvent
from events.device import DevicesReleased, PodCardsAssigned, PodObserved
from events.workload import PodsReady
from projections.explanation.life import Life
from projections.log_position import LogPosition

WORKLOAD = "team/ring"


def told(wanted: str, *events: AnyEvent) -> list[tuple[str, str]]:
    life = Life(wanted)
    for sequence, event in enumerate(events, 1):
        life.fold(event, LogPosition(partition="DEVICES_default", sequence=sequence, at=sequence))
    return [(one.what, one.detail) for one in life.lines if not one.note]


def cards(pod: str, index: int, pod_set: str = "main", reservation: int = 7) -> PodCardsAssigned:
    return PodCardsAssigned(
        workload=WORKLOAD, reservation=reservation, pod_set=pod_set, index=index, pod=pod, uid=f"u-{pod}"
    )


def seen(pod: str) -> PodObserved:
    return PodObserved(namespace="team", name=pod, uid=f"u-{pod}", workload=WORKLOAD)


def test_pods_that_are_told_their_cards_one_after_the_other_are_one_line() -> None:
    assigned = [event for index in range(5) for event in (cards(f"p{index}", index), seen(f"p{index}"))]
    assert told(f"workload/{WORKLOAD}", *assigned) == [("cards told", "5 pod(s) of main: p0, p1, p2 and 2 more")]


def test_what_happens_in_between_and_another_pod_set_begin_a_new_line() -> None:
    ready = PodsReady(workload=WORKLOAD, ready=True)
    gone = DevicesReleased(workload=WORKLOAD, reservation=7, proof="gone")
    found = told(
        f"workload/{WORKLOAD}",
        cards("a", 0),
        cards("b", 0, "other"),
        ready,
        cards("c", 0, "other"),
        gone,
        cards("d", 1),
    )
    assert found == [
        ("cards told", "1 pod(s) of main: a"),
        ("cards told", "1 pod(s) of other: b"),
        ("running", ""),
        ("cards told", "1 pod(s) of other: c"),
        ("cards released", "gone"),
        ("cards told", "1 pod(s) of main: d"),
    ]


def test_a_pod_is_told_its_own_place() -> None:
    assert ("cards told", "place 1 of main") in told("pod/team/b", seen("b"), cards("a", 0), cards("b", 1))
