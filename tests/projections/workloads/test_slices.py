"""How an elastic job that asks for another size changes it: in place, or by another slice (docs/rules/elastic.md)."""

import pytest

from events.pod_set import PodSet, PodShape
from events.topology import TopologyAssignment, TopologyDomain, TopologyPlacement
from events.workload import PodSetAssignment
from projections.workloads.slices import resizes, shrinks, with_fewer


def pods(**counts: int) -> tuple[PodSet, ...]:
    return tuple(PodSet(name=name, count=count, shape=PodShape()) for name, count in counts.items())


@pytest.mark.parametrize(
    ("wanted", "smaller"),
    [
        (pods(main=1, rest=2), True),
        (pods(main=2, rest=0), True),
        (pods(main=1, rest=1), True),
        (pods(main=2, rest=2), False),
        (pods(main=1, rest=3), False),
        (pods(main=3, rest=2), False),
        (pods(rest=1, main=1), False),
        (pods(main=1), False),
    ],
)
def test_it_becomes_smaller_where_some_pod_sets_do_and_none_becomes_larger(
    wanted: tuple[PodSet, ...], *, smaller: bool
) -> None:
    assert shrinks(pods(main=2, rest=2), wanted) == smaller
    assert resizes(pods(main=2, rest=2), wanted) == (wanted != pods(main=2, rest=2))


def placed(**counts: int) -> PodSetAssignment:
    """Pods of two CPUs each on these hosts."""
    domains = tuple(TopologyDomain(values=(host,), count=count) for host, count in counts.items())
    total = sum(counts.values())
    return PodSetAssignment(
        name="main",
        count=total,
        flavors={"cpu": "f"},
        usage={"cpu": 2000 * total},
        topology=TopologyPlacement(flavor="f", assignment=TopologyAssignment(levels=("host",), domains=domains)),
    )


@pytest.mark.parametrize(
    ("count", "left"),
    [
        (6, placed(a=2, b=3)),
        (5, placed(a=2, b=3)),
        (4, placed(a=2, b=2)),
        (2, placed(a=2)),
        (1, placed(a=1)),
        (0, placed()),
    ],
)
def test_of_pods_that_are_placed_the_first_keep_their_places_and_what_they_used(
    count: int, left: PodSetAssignment
) -> None:
    assert with_fewer(placed(a=2, b=3), count) == left
