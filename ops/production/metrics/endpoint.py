"""Where metrics are fetched: `/metrics` on a port of one's own choice, in the text form of Prometheus or of OpenMetrics."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from aiohttp import web
from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from ops.production.fold_positions import fold_positions
from ops.production.listeners.bearer import trusted
from ops.production.listeners.endpoint import Endpoint
from ops.production.listeners.listening import listening
from ops.production.log.jetstream.capacity import CapacityMetrics, StreamFill
from ops.production.metrics.alarms import AlarmMetrics
from ops.production.metrics.budgets import BudgetMetrics
from ops.production.metrics.builds import BuildMetrics
from ops.production.metrics.cards import CardMetrics
from ops.production.metrics.counters.followers import CountersFollowers
from ops.production.metrics.counters.queue_counters import CounterMetrics
from ops.production.metrics.custom_labels import WithCustomLabels
from ops.production.metrics.local_queue_choice import WithChosenLocalQueues
from ops.production.metrics.queues import QueueMetrics
from ops.production.metrics.services import ServiceMetrics
from ops.production.metrics.verifications import VerificationMetrics
from ops.production.wiring import Running
from projections.world import World

Source = Callable[[], World | None]
AskedFill = Callable[[], Awaitable[list[StreamFill]]]
AskedCollectors = Callable[[], Awaitable[Sequence[Collector]]]
"""Collectors of what the bus is asked for at each scrape."""
OF_PROCESS: tuple[Collector, ...] = (PROCESS_COLLECTOR, GC_COLLECTOR, PLATFORM_COLLECTOR)
"""What every program tells of itself, under the names of the client."""
TELLS_QUEUES, TELLS_CARDS = "queue-manager", "accountant"
"""The services beside which these are told of: one kind of process each, or sums over all of them would count many times."""


def registry_of(world: Source, filled: Sequence[StreamFill], others: Sequence[Collector]) -> CollectorRegistry:
    """All that is told at one scrape."""
    registry = CollectorRegistry(auto_describe=False)
    for one in (CardMetrics(world), CapacityMetrics(filled), *others):
        registry.register(one)
    return registry


class ApartInOpenMetrics(Collector):
    """The same as OpenMetrics can tell it, which names a counter without its `_total`: beside a gauge of that name it has no type."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        found = list(self._registry.collect())
        gauges = {one.name for one in found if one.type == "gauge"}
        for one in found:
            if one.type == "counter" and one.name in gauges:
                untyped = Metric(f"{one.name}_total", one.documentation, "unknown")
                untyped.samples = one.samples
                yield untyped
            else:
                yield one


def exposition(world: Source, filled: Sequence[StreamFill] = (), *others: Collector) -> bytes:
    """All metrics of a world, and of the log behind it, as text."""
    return generate_latest(registry_of(world, filled, others))


_OPEN_METRICS = "application/openmetrics-text"


async def _no_collectors() -> Sequence[Collector]:
    return ()


def _no_world() -> None:
    return None


async def _nothing() -> list[StreamFill]:
    return []


def _ready() -> str:
    return ""


def metrics_app(
    world: Source,
    token: Path | None,
    filled: AskedFill = _nothing,
    *others: Collector,
    not_yet: Callable[[], str] = _ready,
    asked: AskedCollectors = _no_collectors,
) -> web.Application:
    """The metrics of a world, under `/metrics`; with a token for those who come from elsewhere, when there is one.

    `not_yet` says why there are none yet: figures of half a log would look like a rush when the rest of it is folded.
    """

    async def metrics(request: web.Request) -> web.Response:
        if token is not None and not trusted(request, token):
            return web.Response(status=401, text="a bearer token is needed\n", headers={"WWW-Authenticate": "Bearer"})
        why = not_yet()
        if why:
            return web.Response(status=503, text=f"{why}\n")
        encode, form = choose_encoder(request.headers.get("Accept", ""))
        found = registry_of(world, await filled(), (*others, *await asked()))
        told = ApartInOpenMetrics(found) if form.startswith(_OPEN_METRICS) else found
        return web.Response(body=encode(told), headers={"Content-Type": form})

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    return app


def not_yet(running: Running, counting: CountersFollowers | None) -> str:
    """What has to be folded first; a process that has halted tells what it has, or nobody would hear of that."""
    if set(running.services) - {"watcher"} and not running.hosts:
        return "the services have not begun yet"
    if any(host.halted for host in running.hosts.values()):
        return ""
    behind = [partition for partition, host in running.hosts.items() if not host.caught_up.is_set()]
    if behind:
        return f"{', '.join(sorted(behind))} is being folded"
    if counting is not None and (uncounted := counting.behind):
        return f"what happened before is being counted in {', '.join(uncounted)}"
    return ""


def _as_configured(metrics: Collector, world: Source) -> Collector:
    """Metrics of queues, of those and with the labels that the settings name."""
    return WithCustomLabels(WithChosenLocalQueues(metrics, world), world)


@asynccontextmanager
async def metrics_alone(at: Endpoint, *told: Collector) -> AsyncGenerator[None, None]:
    """Serve the metrics of a process without services; none of it when the port is 0. Raises `PortTaken`."""
    if not at.port:
        yield
        return
    app = metrics_app(_no_world, at.token, _nothing, *told, *OF_PROCESS)
    async with listening(app, at.port, what="metrics", host=at.address):
        yield


@asynccontextmanager
async def served(running: Running, at: Endpoint, *more: Collector) -> AsyncGenerator[None, None]:
    """Serve the metrics of the services in this process, and more; none of it when the port is 0. Raises `PortTaken`.

    A world is folded and read on one event loop, so a scrape never sees half an event.
    """
    if not at.port:
        yield
        return
    others: list[Collector] = [AlarmMetrics(running), BuildMetrics(), *OF_PROCESS, *more]
    counting = CountersFollowers(running) if TELLS_QUEUES in running.services else None
    if counting is not None:
        of_queues = QueueMetrics(running.world_of_queues, running.ports.clock.now)
        others += [
            _as_configured(of_queues, running.world_of_queues),
            BudgetMetrics(running.world_of_queues, running.ports.clock.now),
            _as_configured(CounterMetrics(counting, running.trace_of), running.world_of_queues),
        ]
    cards = running.world_of_cards if TELLS_CARDS in running.services else _no_world

    verified = VerificationMetrics(running)

    async def asked() -> Sequence[Collector]:
        found = await fold_positions(running)
        verified.look(found)
        return (ServiceMetrics(running, found), verified)

    why_not = partial(not_yet, running, counting)
    app = metrics_app(cards, at.token, running.filled, *others, not_yet=why_not, asked=asked)
    task = asyncio.create_task(counting.run()) if counting is not None else None
    try:
        async with listening(app, at.port, what="metrics", host=at.address):
            yield
    finally:
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
