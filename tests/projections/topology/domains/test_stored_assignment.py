from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.api.topology import ApiTopologyAssignment
from events.topology import TopologyAssignment, TopologyDomain
from projections.topology.domains import stored_assignment
from projections.topology.domains.stored_assignment import BadAssignment, read_assignment, stored
from projections.topology.domains.tree import HOSTNAME
from tests.projections.topology.makers import hosts

NAMES = st.text(alphabet="ab-1", min_size=0, max_size=6)


def written(assignment: TopologyAssignment, *, prefixes: bool = True) -> list[dict[str, Any]]:
    return sent(assignment, prefixes=prefixes)["slices"]


def sent(assignment: TopologyAssignment, *, prefixes: bool = True) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(stored(assignment, hostname_prefixes=prefixes)))


def of(**pods: int) -> TopologyAssignment:
    return hosts(**{name.replace("_", "-"): count for name, count in pods.items()})


def test_what_all_values_and_counts_have_in_common_is_written_once() -> None:
    assignment = TopologyAssignment(
        levels=("block", "rack"),
        domains=tuple(TopologyDomain(values=("b", f"rack-{name}-x"), count=2) for name in ("1", "23")),
    )
    assert written(assignment) == [
        {
            "domainCount": 2,
            "valuesPerLevel": [
                {"universal": "b"},
                {"individual": {"prefix": "rack-", "suffix": "-x", "roots": ["1", "23"]}},
            ],
            "podCounts": {"universal": 2},
        }
    ]


def test_a_beginning_is_cut_where_it_runs_into_the_end() -> None:
    assert written(hosts(aa=1, aaa=2), prefixes=False) == [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"individual": {"suffix": "aa", "roots": ["", "a"]}}],
            "podCounts": {"individual": [1, 2]},
        }
    ]


def test_hosts_are_sliced_by_how_their_names_begin_where_that_is_shorter() -> None:
    names = [
        f"{pool}-{number:02}" for pool in ("gpu-pool-of-a-long-name", "highmem-nodes-in-zone-b") for number in range(9)
    ]
    assignment = hosts(**dict.fromkeys(names, 1))
    prefixes = [one["valuesPerLevel"][0]["individual"]["prefix"] for one in written(assignment)]
    assert prefixes == ["gpu-pool-of-a-long-name-0", "highmem-nodes-in-zone-b-0"]
    assert len(written(assignment, prefixes=False)) == 1


def test_hosts_that_share_no_beginning_are_a_slice_of_their_own() -> None:
    pool = "gpu-pool-of-a-very-long-name-in-zone-a"
    assignment = hosts(**dict.fromkeys([*(f"{pool}-{number:02}" for number in range(9)), "y", "z"], 1))
    assert [one["domainCount"] for one in written(assignment)] == [9, 2]


def test_a_beginning_that_one_host_has_alone_cuts_nothing() -> None:
    pools = ("gpu-pool-of-a-long-name", "highmem-nodes-in-zone-b")
    names = [f"{pool}-{number:02}-x" for pool in pools for number in range(9)]
    assert [one["domainCount"] for one in written(hosts(**dict.fromkeys(names, 1)))] == [9, 9]


def test_one_slice_is_written_where_several_are_longer() -> None:
    assert len(written(of(a_1=1, a_2=1, b_1=1, b_2=1))) == 1


def test_so_many_dashes_count_as_leave_few_enough_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{site}-{'x' * 200}-{row}-{number}" for site, row, number in product("ab", "12", "12")]
    assignment = hosts(**dict.fromkeys(names, 1))
    deep = len(written(assignment))
    monkeypatch.setattr(stored_assignment, "MOST_SLICES", 3)
    assert (deep, len(written(assignment))) == (4, 2)
    monkeypatch.setattr(stored_assignment, "MOST_SLICES", 1)
    assert len(written(assignment)) == 1


def test_hosts_are_sliced_up_to_a_thousand_times() -> None:
    for rows, slices in ((1000, 1000), (1001, 1)):
        names = [f"{row:04}{'x' * 200}-{number}" for row in range(rows) for number in range(3)]
        assert len(written(hosts(**dict.fromkeys(names, 1)))) == slices


def test_racks_are_not_sliced_however_their_names_begin() -> None:
    names = [f"{row}{'x' * 200}-{number}" for row in "ab" for number in range(3)]
    domains = tuple(TopologyDomain(values=(name,), count=1) for name in names)
    assert len(written(TopologyAssignment(levels=("rack",), domains=domains))) == 1
    assert len(written(TopologyAssignment(levels=(HOSTNAME,), domains=domains))) == 2


def test_no_slice_holds_more_domains_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stored_assignment.MOST_DOMAINS == 100_000
    monkeypatch.setattr(stored_assignment, "MOST_DOMAINS", 2)
    assert [one["domainCount"] for one in written(of(a_1=1, a_2=1, a_3=1))] == [2, 1]


def test_an_assignment_without_domains_has_no_slices() -> None:
    assert written(hosts()) == []


@given(st.dictionaries(NAMES, st.integers(1, 3), max_size=12), st.booleans(), st.booleans())
def test_what_is_written_is_read_again(pods: dict[str, int], prefixes: bool, by_host: bool) -> None:
    assignment = TopologyAssignment(
        levels=(HOSTNAME,) if by_host else ("block", "rack"),
        domains=tuple(
            TopologyDomain(values=(name,) if by_host else ("b", name), count=count)
            for name, count in sorted(pods.items())
        ),
    )
    assert read_assignment(msgspec.convert(sent(assignment, prefixes=prefixes), ApiTopologyAssignment)) == assignment


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"domainCount": 3}, "slices[0].valuesPerLevel[0].individual.roots: 2 for 3 domains"),
        ({"valuesPerLevel": []}, "slices[0].valuesPerLevel: 0 for 1 levels"),
        ({"valuesPerLevel": [{}]}, "slices[0].valuesPerLevel[0]: write either universal or individual"),
        ({"podCounts": {}}, "slices[0].podCounts: write either universal or individual"),
        ({"podCounts": {"individual": [1]}}, "slices[0].podCounts.individual: 1 for 2 domains"),
    ],
)
def test_an_assignment_that_contradicts_itself_says_where(change: dict[str, object], told: str) -> None:
    value = sent(hosts(a=1, b=1))
    value["slices"][0].update(change)
    with pytest.raises(BadAssignment, match=told.replace("[", r"\[").replace("]", r"\]")):
        read_assignment(msgspec.convert(value, ApiTopologyAssignment))
