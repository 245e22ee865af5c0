"""How the services of this process keep up: with the log, with the cluster, and with their clocks.

What counts here begins with the process, for it is not on the log.
"""

from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from events.event import Millis
from ops.production.metrics.families import Values, counter, gauge, histogram
from ops.production.metrics.places import FOLDING, Looked
from ops.production.wiring import Running
from services.applier.shell import APPLIED, REJECTED, Applier
from services.runtime.appends import BOUNDS
from services.runtime.outbox import Outbox

Rows = list[tuple[Values, float]]
_MILLI = 1000


class ServiceMetrics(Collector):
    """Collects from the services of this process, and from what was asked of the bus for this scrape."""

    def __init__(self, running: Running, looked: Looked) -> None:
        self._running, self._looked = running, looked

    def describe(self) -> Iterator[Metric]:
        """Nothing beforehand: what there is depends on the services."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """All of them; what is not known is not told."""
        now = self._running.ports.clock.now()
        yield from self._folding()
        yield from self._appending()
        yield from _applying(self._running.applier, now)
        yield from self._reporting(now)
        ahead = self._looked.ahead
        yield gauge("kuelog_clock_skew_seconds", [] if ahead is None else [((), ahead / _MILLI)])
        noted = self._running.witnessed_at
        yield gauge("kuelog_witness_timestamp_seconds", [] if noted is None else [((), noted / _MILLI)])

    def _folding(self) -> Iterator[Metric]:
        folded: Rows = []
        messages: Rows = []
        seconds: Rows = []
        for one in self._looked.places:
            for service in FOLDING[one.partition]:
                if service not in self._running.services:
                    continue
                values = (service, one.partition, one.stream)
                folded.append((values, one.folded))
                if one.end is None:
                    continue
                messages.append((values, one.end - one.folded))
                if one.waiting is not None or one.end == one.folded:
                    seconds.append((values, (one.waiting or 0) / _MILLI))
        yield gauge("kuelog_folded_sequence", folded)
        yield gauge("kuelog_fold_lag_messages", messages)
        yield gauge("kuelog_fold_lag_seconds", seconds)

    def _appending(self) -> Iterator[Metric]:
        hosts = sorted(self._running.hosts.items())
        results = [
            ((partition, *who), count) for partition, one in hosts for who, count in sorted(one.appends.results.items())
        ]
        yield counter("kuelog_appends_total", results)
        took = [((partition,), one.appends.took) for partition, one in hosts if one.deciders]
        yield histogram("kuelog_append_seconds", BOUNDS, took)

    def _reporting(self, now: Millis) -> Iterator[Metric]:
        boxes = [(who, box) for who, box in self._outboxes() if box is not None]
        yield gauge("kuelog_outbox_messages", [((who,), box.waiting) for who, box in boxes])
        yield gauge("kuelog_outbox_lag_seconds", [((who,), _since(box.oldest, now)) for who, box in boxes])

    def _outboxes(self) -> Iterator[tuple[str, Outbox | None]]:
        applier, watcher = self._running.applier, self._running.watcher
        yield "applier", None if applier is None else applier.outbox
        yield "watcher", None if watcher is None else watcher.outbox


def _applying(applier: Applier | None, now: Millis) -> Iterator[Metric]:
    """What is decided and not written to the cluster yet."""
    waiting = [] if applier is None else [(("urgent",), applier.backlog.urgent), (("low",), applier.backlog.low)]
    lag = [] if applier is None else [((), _since(applier.backlog.oldest, now))]
    done = [] if applier is None else [((one,), applier.results[one]) for one in (APPLIED, REJECTED)]
    yield gauge("kuelog_unapplied_decisions", waiting)
    yield gauge("kuelog_apply_lag_seconds", lag)
    yield counter("kuelog_applied_total", done)


def _since(then: Millis | None, now: Millis) -> float:
    return 0.0 if then is None else max(now - then, 0) / _MILLI
