from hypothesis import given
from hypothesis import strategies as st

from projections.queues.pending_queues import PendingQueue, PlaceInLine
from projections.trail import Trail

moves = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 5), st.sampled_from(["push", "park", "refuse", "remove"])),
    max_size=40,
)


def place(key: str, order: int, reason: str = "") -> PlaceInLine:
    return PlaceInLine(1, order, 0, key, key, kind=f"kind {order % 2}", reason=reason)


def move(line: PendingQueue, trail: Trail, key: str, order: int, how: str) -> None:
    match how:
        case "push":
            line.push(trail, place(key, order))
        case "park":
            line.park(trail, key, "why")
        case "refuse":
            line.park_refused(trail, place(key, order, "why"), stamp=order)
        case _:
            line.remove(trail, key)


def picture(line: PendingQueue) -> object:
    classes = {kind: (list(parked.members), parked.stamp) for kind, parked in line.classes.items()}
    alike = {kind: sorted(line.alike(kind)) for kind in ("kind 0", "kind 1")}
    return dict(line.waiting), dict(line.parked), line.head(), classes, alike


@given(moves, moves)
def test_a_line_keeps_its_order_and_can_be_taken_back(before: list, after: list) -> None:
    trail, line = Trail(), PendingQueue()
    for key, order, how in before:
        move(line, trail, key, order, how)
    kept = picture(line)
    mark = trail.mark()
    for key, order, how in after:
        move(line, trail, key, order, how)
        line.head()
    assert list(line.in_order()) == sorted(line.waiting, key=lambda key: line.waiting[key])
    trail.undo(mark)
    assert picture(line) == kept


@given(moves)
def test_nobody_is_in_two_places(told: list) -> None:
    trail, line = Trail(), PendingQueue()
    for key, order, how in told:
        move(line, trail, key, order, how)
    refused = [place.key for parked in line.classes.values() for place in parked.members]
    assert not set(line.waiting) & set(line.parked)
    assert len(refused) == len(set(refused)) and set(refused) <= set(line.parked)
    assert all(parked.members == sorted(parked.members) and parked.members for parked in line.classes.values())
