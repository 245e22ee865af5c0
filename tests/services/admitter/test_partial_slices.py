"""Fewer pods than were asked for, of which so many lie together: no slice is left incomplete, and no pod without a place."""

import pytest
from msgspec.structs import replace

from events.topology import SliceConstraint
from events.workload import WorkloadSubmitted
from projections.topology.domains.tree import HOSTNAME
from tests.services.admitter.test_shared_domains import STRATEGIES, asking, host, queues
from tests.stories.small_world import Story


def in_slices(count: int, size: int) -> WorkloadSubmitted:
    """So many pods or fewer, of which so many at a time lie on one host."""
    found = asking("w", "one", count)
    topology = replace(found.spec.pod_sets[0].topology, slices=(SliceConstraint(topology=HOSTNAME, size=size),))
    pod_set = replace(found.spec.pod_sets[0], minimum=1, topology=topology)
    return replace(found, spec=replace(found.spec, pod_sets=(pod_set,)))


@pytest.mark.parametrize(("count", "size", "placed"), [(6, 3, 3), (8, 4, 4), (8, 2, 4), (10, 5, None)])
def test_as_many_get_in_as_are_whole_slices(count: int, size: int, placed: int | None) -> None:
    told = Story().told(*host("tas"), *queues(STRATEGIES[1], "tas", "tas"))
    told.told(in_slices(count, size)).decided()
    admission = told.world.workloads["team/w"].admission
    if placed is None:
        assert admission is None
    else:
        assert admission is not None
        (given,) = admission.assignments
        assert given.topology is not None
        assert (given.count, sum(one.count for one in given.topology.assignment.domains)) == (placed, placed)
