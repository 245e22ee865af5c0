"""Who runs and who waits, where, with which cards, and when those who wait may start: what `kuelog top` shows."""

from collections.abc import Iterator, Mapping

import msgspec

from events.event import Millis
from ops.queries.whatif.expected_starts import ExpectedStarts
from projections.devices.holdings.card_stakes import uses_of
from projections.devices.requests.card_requests import pod_card_requests
from projections.devices.state import config_of
from projections.explanation.positions import positions
from projections.explanation.read_models import WorkloadRow, queue_rows, usage_rows, workload_rows
from projections.workloads.lifecycle import Workload
from projections.world import World


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One workload that has not ended."""

    workload: str
    job: str
    state: str
    reason: str
    since: Millis
    cluster_queue: str
    local_queue: str
    priority: int
    preempted: int
    position: int
    """Among those who wait for its cluster queue, from 1; 0 where it does not wait in a line."""
    flavors: tuple[str, ...]
    nodes: tuple[str, ...]
    """Where it has cards."""
    cards: int
    """How many it holds, in whole or in part; of who waits, how many it asks for."""
    starts: Millis | None
    """When it is expected to start; None where it runs already, or nothing can be said."""


class QueueStanding(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster queue."""

    name: str
    cohort: str
    admitted: int
    reserved: int
    waiting: int
    used: dict[str, tuple[int, int]]
    """By resource, in its units: what is used of all flavors, and what the queue owns."""


class Standings(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody who runs or waits."""

    cards: int
    cards_held: int
    """Cards of which somebody has a part or all."""
    queues: tuple[QueueStanding, ...]
    workloads: tuple[Standing, ...]


def standings(world: World, at: Millis, expected: ExpectedStarts | None = None) -> Standings:
    """Everybody who runs or waits in a world at a time; with when they are expected to start where that was asked for."""
    rows = [row for row in workload_rows(world) if row.state != "finished"]
    places = {
        one.workload.key: one.in_cluster_queue + 1
        for name in sorted(world.cluster_queues)
        for one in positions(world, name, at)
    }
    starts = expected.starts if expected is not None else {}
    return Standings(
        cards=sum(len(registered.cards) for registered in world.cards.nodes.values()),
        cards_held=sum(bool(row) for row in world.cards.stakes.values()),
        queues=tuple(_queues(world)),
        workloads=tuple(_standing(world, row, places, starts) for row in rows),
    )


def _standing(world: World, row: WorkloadRow, places: Mapping[str, int], starts: Mapping[str, Millis]) -> Standing:
    workload = world.workloads[row.key]
    cards, nodes = _held(world, row.key)
    return Standing(
        workload=row.key,
        job=row.job,
        state=row.state,
        reason=row.reason,
        since=row.since,
        cluster_queue=row.cluster_queue,
        local_queue=row.queue,
        priority=row.priority,
        preempted=row.preempted,
        position=places.get(row.key, 0),
        flavors=row.flavors,
        nodes=tuple(sorted(nodes)),
        cards=len(cards) or _asked(world, workload),
        starts=starts.get(row.key),
    )


def _held(world: World, key: str) -> tuple[set[str], set[str]]:
    """The cards that a workload holds, by the log or by HAMi's annotations, and their nodes."""
    cards, nodes = set[str](), set[str]()
    for holding in world.cards.attempts_of(key):
        cards.update(uses_of(holding.placements))
        nodes.update(one.node for one in holding.placements)
    for pod in world.cards.living.get(key, ()):
        cards.update(world.cards.pods[pod].use)
        nodes.add(world.cards.pods[pod].node)
    return cards, nodes


def _asked(world: World, workload: Workload) -> int:
    config = config_of(world)
    return sum(
        one.count
        * sum(each.count for container in pod_card_requests(one.shape, config).containers for each in container)
        for one in workload.spec.pod_sets
    )


def _queues(world: World) -> Iterator[QueueStanding]:
    used: dict[str, dict[str, tuple[int, int]]] = {}
    for row in usage_rows(world):
        sums = used.setdefault(row.node, {})
        amount, owned = sums.get(row.resource, (0, 0))
        sums[row.resource] = (amount + row.used, owned + max(row.nominal, 0))
    for row in queue_rows(world):
        node = world.quota.node(row.name)
        yield QueueStanding(
            name=row.name,
            cohort=row.cohort,
            admitted=row.admitted,
            reserved=row.reserved,
            waiting=row.waiting + row.parked,
            used=used.get(node.key, {}) if node is not None else {},
        )
