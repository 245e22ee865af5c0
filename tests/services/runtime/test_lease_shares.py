"""Leases spread over the replicas that are there, by a rule that all go by."""

from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from services.runtime.lease_port import Replica
from services.runtime.lease_shares import gives_back, takes

LEASES = (
    "DEVICES_default.accountant",
    *(f"LOG_{n}.{who}" for n in range(4) for who in ("admitter", "applier")),
    "watcher",
)


def replica(name: str, *holds: str, wants: Sequence[str] = LEASES) -> Replica:
    return Replica(name=name, wants=tuple(wants), holds=tuple(holds))


def others(all_: Iterable[Replica], but: Replica) -> list[Replica]:
    return [one for one in all_ if one.name != but.name]


def step(there: list[Replica]) -> bool:
    """All look once at what stands there now: whether anything moved."""
    moved = False
    for one in list(there):
        given = gives_back(one, others(there, one), one.holds)
        if given:
            there[there.index(one)] = replace(one, holds=tuple(name for name in one.holds if name != given))
            moved = True
    for lease in sorted({name for one in there for name in one.wants} - {name for one in there for name in one.holds}):
        takers = [one for one in there if lease in one.wants and takes(one, others(there, one), lease)]
        assert len(takers) == 1, "all agree whose it is"
        there[there.index(takers[0])] = replace(takers[0], holds=(*takers[0].holds, lease))
        moved = True
    return moved


def kinds(one: Replica) -> dict[str, int]:
    found: dict[str, int] = {}
    for lease in one.holds:
        kind = lease.rpartition(".")[2]
        found[kind] = found.get(kind, 0) + 1
    return found


def test_a_free_lease_is_for_who_holds_the_fewest_and_then_for_the_first_by_name() -> None:
    a, b, c = replica("a", "LOG_0.admitter"), replica("b"), replica("c")
    assert not takes(a, [b, c], "LOG_1.admitter")
    assert takes(b, [a, c], "LOG_1.admitter") and not takes(c, [a, b], "LOG_1.admitter")


def test_who_would_not_take_a_lease_or_says_that_he_holds_it_keeps_nobody_from_it() -> None:
    own = replica("b", "LOG_2.admitter", "LOG_3.admitter")
    gone = replica("a", "LOG_0.admitter", wants=("LOG_0.admitter",))
    assert takes(own, [gone], "LOG_0.admitter"), "nobody holds it, so who says so is gone"
    assert takes(own, [gone], "LOG_1.admitter")
    assert not takes(own, [replace(gone, holds=())], "LOG_0.admitter"), "it holds less, and would take it"


def test_nothing_is_given_back_while_a_lease_is_on_its_way_nor_what_has_just_been_taken() -> None:
    wants = ("LOG_0.admitter", "LOG_1.admitter", "LOG_2.admitter")
    first, second = replica("a", *wants, wants=wants), replica("b", wants=wants)
    assert gives_back(first, [second], wants) == "LOG_0.admitter"
    assert gives_back(first, [second], ("LOG_2.admitter",)) == "LOG_2.admitter"
    assert not gives_back(first, [second], ())
    assert not gives_back(replace(first, holds=wants[1:]), [second], wants), "one of three is on its way"


def test_only_who_holds_most_gives_back() -> None:
    wants = tuple(f"LOG_{n}.admitter" for n in range(7))
    a, b, c = replica("a", *wants[:3], wants=wants), replica("b", *wants[3:], wants=wants), replica("c", wants=wants)
    assert not gives_back(a, [b, c], wants)
    assert gives_back(b, [a, c], wants) == "LOG_3.admitter"


def test_the_one_lease_on_watching_moves_only_to_who_holds_less_in_all_and_after_others() -> None:
    wants = ("DEVICES_default.accountant", "LOG_0.admitter", "LOG_0.applier", "watcher")
    there = [replica("a", *wants, wants=wants), replica("b", wants=wants)]
    while step(there):
        pass
    assert [one.holds for one in there] == [
        ("LOG_0.applier", "watcher"),
        ("DEVICES_default.accountant", "LOG_0.admitter"),
    ]


@given(st.data(), st.integers(1, 5))
def test_whoever_holds_what_all_come_to_their_share_in_few_moves_and_then_nothing_moves(
    data: st.DataObject, count: int
) -> None:
    names = "abcde"[:count]
    holders = {lease: data.draw(st.sampled_from([*names, ""])) for lease in LEASES}
    there = [replica(name, *(lease for lease, who in holders.items() if who == name)) for name in names]
    rounds = 0
    while step(there):
        rounds += 1
        assert rounds <= 2 * len(LEASES)
    assert sorted(lease for one in there for lease in one.holds) == sorted(LEASES), "each is held once"
    for kind in ("admitter", "applier", "accountant", "watcher"):
        of_kind = [kinds(one).get(kind, 0) for one in there]
        assert max(of_kind) - min(of_kind) <= 1


@given(st.data())
def test_a_replica_that_joins_gets_its_share_and_no_other_lease_moves(data: st.DataObject) -> None:
    there = [replica(name) for name in data.draw(st.sampled_from(["a", "ab", "abc"]))]
    while step(there):
        pass
    before = {lease: one.name for one in there for lease in one.holds}
    there.append(replica("z"))
    while step(there):
        pass
    moved = {lease: one.name for one in there for lease in one.holds if before[lease] != one.name}
    assert set(moved.values()) <= {"z"}
    assert len(moved) == len(there[-1].holds)
