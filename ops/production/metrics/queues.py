"""Kueue's gauges of cluster queues and local queues, read from a world at the moment.

What is gone is not exported any more, because nothing is kept between two scrapes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from events.event import Millis
from events.quota import ClusterQueueObserved, Quota
from ops.production.metrics.cohorts import cohorts, share_value
from ops.production.metrics.families import Values, gauge, in_seconds, in_units, ratio
from projections.fair_sharing.past_usage import past_usage
from projections.fair_sharing.usage_mode import by_usage
from projections.queues.active_condition import cluster_queue_active, local_queue_active
from projections.queues.status import FlavorUse, QueueStatus, Tally, cluster_queue_status, local_queue_status, tallies
from projections.queues.waiting import asked, beside, in_line, unadmitted
from projections.workloads.variants import as_shown
from projections.world import World

Rows = list[tuple[Values, float]]
ACTIVE, INADMISSIBLE = "active", "inadmissible"
_STATUSES = ("pending", "active", "terminating")
_TRUTHS = ("True", "False", "Unknown")


class QueueStatuses(msgspec.Struct, frozen=True):
    """The status of every queue at one moment."""

    cluster_queues: dict[str, QueueStatus]
    local_queues: dict[str, QueueStatus]
    """By namespace and name."""


class QueueMetrics(Collector):
    """Collects from the world that it is given at the moment; nothing while there is none."""

    def __init__(self, world: Callable[[], World | None], now: Callable[[], Millis]) -> None:
        self._world, self._now = world, now

    def collect(self) -> Iterator[Metric]:
        """All gauges of all queues."""
        world = self._world()
        if world is None:
            return
        now = self._now()
        statuses = queue_statuses(world, now)
        yield from waiting(world, now)
        yield from holding(statuses)
        yield from finished(world)
        yield from standing(world)
        yield from amounts(world, statuses)
        yield from shares(world, now)
        yield from cohorts(world, {name: status.admitted for name, status in statuses.cluster_queues.items()})


def queue_statuses(world: World, at: Millis) -> QueueStatuses:
    """The status of every queue, counted once."""
    queues: dict[str, QueueStatus] = {}
    local: dict[str, QueueStatus] = {}
    counted: dict[str, Tally] = {}
    for name in sorted(world.cluster_queues):
        found = tallies(world, name)
        queues[name] = cluster_queue_status(world, name, found)
        counted.update(found)
    for key in sorted(world.local_queues):
        local[key] = local_queue_status(world, key, counted.get(key) or Tally(), at)
    return QueueStatuses(queues, local)


def waiting(world: World, at: Millis) -> Iterator[Metric]:
    """Who waits, as what, for how much, since when, and why."""
    queues: Rows = []
    classes: Rows = []
    pending: Rows = []
    oldest: Rows = []
    local: Counter[Values] = Counter(
        {(*_local_queue_labels(key), status): 0 for key in world.local_queues for status in _WAITS}
    )
    for name, queue in sorted(world.cluster_queues.items()):
        both = {ACTIVE: in_line(world, name), INADMISSIBLE: beside(world, name)}
        for status, keys in both.items():
            queues.append(((name, status), len(keys)))
            classes.append(((name, status), len({world.workloads[key].equivalence for key in keys})))
            through = Counter(world.workloads[key].local_queue for key in keys)
            local.update(
                {(*_local_queue_labels(key), status): n for key, n in through.items() if key in world.local_queues}
            )
        created = [world.workloads[key].created_at for keys in both.values() for key in keys]
        oldest.append(((name,), in_seconds(max(at - min(created, default=at), 0))))
        total = asked(world, queue, [key for keys in both.values() for key in keys])
        pending.extend(((name, resource), in_units(resource, amount)) for resource, amount in sorted(total.items()))
    yield gauge("kueue_pending_workloads", queues)
    yield gauge("kueue_pending_scheduling_hashes", classes)
    yield gauge("kueue_cluster_queue_resource_pending", pending)
    yield gauge("kuelog_oldest_pending_seconds", oldest)
    yield gauge("kueue_local_queue_pending_workloads", _sorted(local))
    why: Counter[Values] = Counter()
    locally: Counter[Values] = Counter()
    for one, count in Counter(unadmitted(world)).items():
        if one.cluster_queue:
            # Also where there is none of this name: that is what they wait for.
            why[one.cluster_queue, one.reason, one.cause] += count
        if one.local_queue in world.local_queues:
            locally[*_local_queue_labels(one.local_queue), one.cluster_queue, one.reason, one.cause] += count
    yield gauge("kueue_unadmitted_workloads", _sorted(why))
    yield gauge("kueue_local_queue_unadmitted_workloads", _sorted(locally))


def holding(statuses: QueueStatuses) -> Iterator[Metric]:
    """How many hold quota, and how many of them may run."""
    queues = statuses.cluster_queues.items()
    yield gauge("kueue_reserving_active_workloads", [((name,), one.reserving) for name, one in queues])
    yield gauge("kueue_admitted_active_workloads", [((name,), one.admitted) for name, one in queues])
    local = [(_local_queue_labels(key), one) for key, one in statuses.local_queues.items()]
    yield gauge("kueue_local_queue_reserving_active_workloads", [(labels, one.reserving) for labels, one in local])
    yield gauge("kueue_local_queue_admitted_active_workloads", [(labels, one.admitted) for labels, one in local])


def finished(world: World) -> Iterator[Metric]:
    """How many have finished and are still there."""
    queues: Counter[Values] = Counter({(name,): 0 for name in world.cluster_queues})
    local: Counter[Values] = Counter({_local_queue_labels(key): 0 for key in world.local_queues})
    for workload in world.workloads.values():
        if not workload.finished or workload.spec.variant_of or workload.in_cluster.discarded:
            continue
        found, admission = world.cluster_queue_of(workload), as_shown(world, workload).admission
        name = admission.cluster_queue if admission is not None else found.name if found else ""
        if name in world.cluster_queues:
            queues[name,] += 1
        if workload.local_queue in world.local_queues:
            local[_local_queue_labels(workload.local_queue)] += 1
    yield gauge("kueue_finished_workloads", _sorted(queues))
    yield gauge("kueue_local_queue_finished_workloads", _sorted(local))


def standing(world: World) -> Iterator[Metric]:
    """Whether queues take anything in, and where they belong."""
    status: Rows = []
    info: Rows = []
    for name, queue in sorted(world.cluster_queues.items()):
        now = (
            "terminating" if queue.terminating else "active" if cluster_queue_active(world, name).active else "pending"
        )
        status.extend(((name, one), int(one == now)) for one in _STATUSES)
        info.append(((name, queue.cohort, world.quota.queues[name].root.name if queue.cohort else ""), 1))
    yield gauge("kueue_cluster_queue_status", status)
    yield gauge("kueue_cluster_queue_info", info)
    local: Rows = []
    for key in sorted(world.local_queues):
        open_now = str(local_queue_active(world, key).active)
        local.extend(((*_local_queue_labels(key), one), int(one == open_now)) for one in _TRUTHS)
    yield gauge("kueue_local_queue_status", local)


def amounts(world: World, statuses: QueueStatuses) -> Iterator[Metric]:
    """What queues own, may borrow and lend, and what of it is held."""
    queues = sorted(world.cluster_queues.items())
    for name, value in (
        ("nominal_quota", lambda quota: quota.nominal),
        ("borrowing_limit", lambda quota: quota.borrowing_limit),
        ("lending_limit", lambda quota: quota.lending_limit),
    ):
        yield gauge(
            f"kueue_cluster_queue_{name}",
            [
                ((queue.cohort, queue.name, flavor, quota.resource), in_units(quota.resource, value(quota)))
                for _, queue in queues
                for flavor, quota in _quotas(queue)
            ],
        )
    for name, what in (("reservation", lambda one: one.reservation), ("usage", lambda one: one.usage)):
        yield gauge(
            f"kueue_cluster_queue_resource_{name}",
            [
                ((queue.cohort, key, *where), amount)
                for key, queue in queues
                for where, amount in _uses(what(statuses.cluster_queues[key]))
            ],
        )
        yield gauge(
            f"kueue_local_queue_resource_{name}",
            [
                ((*_local_queue_labels(key), *where), amount)
                for key, one in statuses.local_queues.items()
                for where, amount in _uses(what(one))
            ],
        )


def shares(world: World, at: Millis) -> Iterator[Metric]:
    """Shares of cluster queues, and the past usage of local queues, where they count."""
    fair = world.cluster_queues.items() if world.settings.fair_sharing else ()
    yield gauge(
        "kueue_cluster_queue_weighted_share",
        [((name, queue.cohort), share_value(world, world.quota.queues[name])) for name, queue in sorted(fair)],
    )
    used: Rows = []
    for key, one in sorted(world.local_queues.items()):
        if by_usage(world, one.cluster_queue):
            endless, amount = past_usage(world, key, at)
            used.append(((*_local_queue_labels(key), one.cluster_queue), float("inf") if endless else ratio(amount)))
    yield gauge("kueue_local_queue_admission_fair_sharing_usage", used)


def _quotas(queue: ClusterQueueObserved) -> Iterator[tuple[str, Quota]]:
    for group in queue.groups:
        for flavor in group.flavors:
            for quota in flavor.quotas:
                yield flavor.flavor, quota


def _uses(uses: Iterable[FlavorUse]) -> Iterator[tuple[tuple[str, str], float]]:
    for flavor in uses:
        for one in flavor.resources:
            yield (flavor.flavor, one.resource), in_units(one.resource, one.total)


def _local_queue_labels(key: str) -> tuple[str, str]:
    """Name and namespace of a local queue, in the order of Kueue's labels."""
    namespace, _, name = key.partition("/")
    return name, namespace


def _sorted(counted: Mapping[Values, int]) -> Rows:
    return [(values, count) for values, count in sorted(counted.items())]


_WAITS = (ACTIVE, INADMISSIBLE)
