"""Which pods may be let through to the scheduler, and to which domain each of them goes.

Rule: docs/rules/topology.md#ungating
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from events.topology import PodTopology, TopologyAssignment, TopologyRequest
from projections.topology.domains.tree import HOSTNAME


class PlacedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of a pod set that is placed by topology; one that has ended is none."""

    name: str
    uid: str
    topology: PodTopology
    given: tuple[str, ...] = ()
    """The values of the domain whose cards are its own; empty where none are (yet)."""


class PlacedPodSet(msgspec.Struct, frozen=True, kw_only=True):
    """A pod set of an admitted workload: how many pods it was admitted with, where they go, and those that are there."""

    count: int
    request: TopologyRequest = TopologyRequest()
    assignment: TopologyAssignment | None = None
    """None where its pods are not placed by topology."""
    pods: tuple[PlacedPod, ...] = ()
    own_cards: bool = False
    """Each pod has cards of its own: it goes where they are, and waits until it is said which ones (docs/rules/topology.md#card-pins)."""


class _Frame(msgspec.Struct, frozen=True):
    """The indexes of a pod set: the first, and the one behind the last."""

    first: int
    end: int

    def moved(self, offset: int) -> "_Frame":
        return _Frame(self.first + offset, self.end + offset)


def node_selectors(pod_sets: Sequence[PlacedPodSet], unhealthy: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """By UID, what the node selectors of gated pods get when they are let through; pods without an entry stay gated.

    Pods of one set are taken by name. `unhealthy` names hosts that have failed.
    """
    found: dict[str, dict[str, str]] = {}
    for frame, one in zip(_frames(pod_sets), pod_sets, strict=True):
        if one.assignment is None:
            continue
        pods = sorted(one.pods, key=lambda pod: (pod.name, pod.uid))
        places = _by_rank(one, one.assignment, pods, frame) or _by_room(one.assignment, pods)
        on_hosts = one.assignment.levels[-1:] == (HOSTNAME,)
        for uid, values in places.items():
            if not (on_hosts and values[-1] in unhealthy):
                found[uid] = dict(zip(one.assignment.levels, values, strict=True))
    return found


def _frames(pod_sets: Sequence[PlacedPodSet]) -> Iterator[_Frame]:
    """Two pod sets of a group are numbered through, the smaller one first."""
    for index, one in enumerate(pod_sets):
        group = one.request.pod_set_group
        other = next((k for k, each in enumerate(pod_sets) if group and k != index and _group(each) == group), None)
        if other is None or (one.count, index) < (pod_sets[other].count, other):
            yield _Frame(0, one.count)
        else:
            yield _Frame(pod_sets[other].count, pod_sets[other].count + one.count)


def _group(one: PlacedPodSet) -> str:
    return one.request.pod_set_group


def _by_rank(
    one: PlacedPodSet, assignment: TopologyAssignment, pods: Sequence[PlacedPod], frame: _Frame
) -> dict[str, tuple[str, ...]] | None:
    """The domain of each gated pod by its rank; None where ranks can't be used for the pod set."""
    ranks = _ranks(one, pods, frame)
    domains = [domain.values for domain in assignment.domains for _ in range(domain.count)]
    if ranks is None or any(rank >= len(domains) for rank in ranks):
        return None
    places: dict[str, tuple[str, ...]] = {}
    for pod, rank in zip(pods, ranks, strict=True):
        if pod.topology.gated and pod.given in ((), domains[rank]):
            places[pod.uid] = domains[rank]
        elif pod.topology.gated or selected(pod, assignment.levels) != domains[rank]:
            return None
    return places


def _ranks(one: PlacedPodSet, pods: Sequence[PlacedPod], frame: _Frame) -> list[int] | None:
    if not one.request.pod_index_label or not pods:
        return None
    frame = frame.moved(pods[0].topology.index_offset)
    found = [_rank(one, pod.topology.indexes, frame) for pod in pods]
    ranks = [rank for rank in found if rank is not None]
    return ranks if len(set(ranks)) == len(found) else None


def _rank(one: PlacedPodSet, indexes: Mapping[str, int], frame: _Frame) -> int | None:
    request = one.request
    index = indexes.get(request.pod_index_label)
    if index is None or index >= frame.end:
        return None
    rank = index - frame.first
    if request.sub_group_index_label:
        group = indexes.get(request.sub_group_index_label)
        size = one.count // request.sub_group_count if request.sub_group_count > 0 else 0
        if group is None or group >= request.sub_group_count or index >= size:
            return None
        rank += group * size
    return rank if 0 <= rank < one.count else None


def _by_room(assignment: TopologyAssignment, pods: Sequence[PlacedPod]) -> dict[str, tuple[str, ...]]:
    """Domains in their order, each with as many gated pods as it has places left."""
    bound = {pod.uid: pod.given for pod in pods if pod.topology.gated and pod.given}
    taken = Counter(selected(pod, assignment.levels) for pod in pods if not pod.topology.gated)
    taken.update(bound.values())
    gated = iter(pod for pod in pods if pod.topology.gated and not pod.given)
    rooms = (domain.values for domain in assignment.domains for _ in range(domain.count - taken[domain.values]))
    return bound | {pod.uid: values for values, pod in zip(rooms, gated, strict=False)}


def selected(pod: PlacedPod, levels: Sequence[str]) -> tuple[str, ...]:
    """The values of the domain that a pod was sent to."""
    return tuple(pod.topology.node_selector.get(level, "") for level in levels)
