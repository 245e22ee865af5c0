"""How the services of this process keep up: with the log, with the cluster, and with their clocks.

What counts here begins with the process, for it is not on the log.
"""

from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from events.event import Millis
from events.subjects import family_of
from ops.production.fold_positions import FOLDING, FoldPositions
from ops.production.log.site_copies import SiteCopies
from ops.production.metrics.families import Values, counter, gauge, histogram, in_seconds
from ops.production.metrics.names import ATTEMPTS
from ops.production.wiring import Running
from services.applier.backlog import Backlog
from services.applier.shell import APPLIED, REJECTED
from services.runtime.cluster_port import Watches
from services.runtime.partition.appends import BOUNDS, Appends
from services.runtime.partition.turn_durations import BOUNDS as TURN_BOUNDS

Rows = list[tuple[Values, float]]
_NOTHING = Backlog()


class ServiceMetrics(Collector):
    """Collects from the services of this process, and from the positions that were asked of the bus for this scrape."""

    def __init__(self, running: Running, found: FoldPositions) -> None:
        self._running, self._found = running, found

    def collect(self) -> Iterator[Metric]:
        """All of them; one whose value is not known has no sample."""
        now = self._running.ports.clock.now()
        yield from self._folding()
        yield from self._appending()
        yield from self._turning()
        yield from _watching(self._running.ports.watches)
        yield from self._applying(now)
        yield from self._reporting(now)
        leases = sorted(self._running.leases.all, key=lambda one: one.name)
        yield gauge("kuelog_lease_held", [((one.name,), float(one.held)) for one in leases])
        yield counter("kuelog_lease_taken_total", [((one.name,), one.grants) for one in leases])
        yield counter("kuelog_lease_given_back_total", [((one.name,), one.given_back) for one in leases])
        yield gauge("kuelog_lease_standbys", [((one.name,), self._running.leases.standbys(one.name)) for one in leases])
        skew = self._found.clock_skew
        yield gauge("kuelog_clock_skew_seconds", [] if skew is None else [((), in_seconds(skew))])
        noted = self._running.witnessing
        yield gauge("kuelog_witness_timestamp_seconds", [] if noted is None else [((), in_seconds(noted.at))])
        handed = self._running.handing_out.handed
        rows: Rows = [((place,), in_seconds(at)) for place, at in sorted(handed.items())]
        yield gauge("kuelog_checkpoint_handed_out_timestamp_seconds", rows)
        waits: Rows = [((place,), float(one)) for place, one in sorted(self._running.handing_out.outstanding.items())]
        yield gauge("kuelog_checkpoint_outstanding", waits)
        yield from _copying(self._running.ports.sites)

    def _folding(self) -> Iterator[Metric]:
        folded: Rows = []
        messages: Rows = []
        seconds: Rows = []
        for one in self._found.positions:
            for service in FOLDING[family_of(one.partition)]:
                if service not in self._running.services:
                    continue
                values = (service, one.partition, one.stream)
                folded.append((values, one.folded))
                if one.last is None:
                    continue
                messages.append((values, one.last - one.folded))
                if one.age is not None or one.last == one.folded:
                    seconds.append((values, in_seconds(one.age or 0)))
        yield gauge("kuelog_folded_sequence", folded)
        yield gauge("kuelog_fold_lag_messages", messages)
        yield gauge("kuelog_fold_lag_seconds", seconds)

    def _appending(self) -> Iterator[Metric]:
        hosts = sorted(self._running.hosts.items())
        results = [
            ((partition, author, result), count)
            for partition, one in hosts
            for (author, result), count in sorted(one.appends.results.items())
        ]
        yield counter("kuelog_appends_total", results)
        took = [((partition,), one.appends.took) for partition, one in hosts if one.deciders]
        exemplars = {(partition,): _exemplars(one.appends) for partition, one in hosts}
        yield histogram("kuelog_append_seconds", BOUNDS, took, exemplars)

    def _turning(self) -> Iterator[Metric]:
        hosts = sorted(self._running.hosts.items())
        turns = [((partition, *key), took) for partition, one in hosts for key, took in sorted(one.turns.took.items())]
        yield histogram("kuelog_turn_seconds", TURN_BOUNDS, turns)
        attempts = [((key,), took) for _, one in hosts for key, took in sorted(one.turns.attempts.items())]
        if attempts:
            yield histogram(ATTEMPTS, TURN_BOUNDS, attempts)

    def _applying(self, now: Millis) -> Iterator[Metric]:
        """What is decided in each partition and not written to the cluster yet; what another replica writes waits for nobody here."""
        waiting: Rows = []
        lag: Rows = []
        done: list[tuple[tuple[str, str], int]] = []
        for partition, applier in sorted(self._running.appliers.items()):
            backlog = _NOTHING if self._running.leases.written_elsewhere(partition) else applier.backlog
            waiting += [((partition, "urgent"), backlog.urgent), ((partition, "low"), backlog.low)]
            lag.append(((partition,), _since(backlog.oldest, now)))
            done += [((partition, one), applier.results[one]) for one in (APPLIED, REJECTED)]
        yield gauge("kuelog_unapplied_decisions", waiting)
        yield gauge("kuelog_apply_lag_seconds", lag)
        yield counter("kuelog_applied_total", done)

    def _reporting(self, now: Millis) -> Iterator[Metric]:
        watcher = self._running.watcher
        outboxes = {
            "applier": [one.outbox for one in self._running.appliers.values()],
            "watcher": [] if watcher is None else [watcher.outbox],
        }
        waiting: Rows = [((service,), sum(one.waiting for one in of)) for service, of in outboxes.items() if of]
        lag: Rows = [((service,), max(_since(one.oldest, now) for one in of)) for service, of in outboxes.items() if of]
        yield gauge("kuelog_outbox_messages", waiting)
        yield gauge("kuelog_outbox_lag_seconds", lag)


def _copying(sites: SiteCopies) -> Iterator[Metric]:
    """How the copies of sites' logs stand at this hub."""
    known = sorted(sites.states.items())
    yield gauge("kuelog_site_connected", [((site,), float(one.connected)) for site, one in known])
    behind = [((site, each.stream), each.behind) for site, one in known if one.connected for each in one.streams]
    yield gauge("kuelog_site_behind_messages", behind)
    silent = [((site,), in_seconds(one.silent)) for site, one in known if one.silent is not None]
    yield gauge("kuelog_site_silent_seconds", silent)


def _watching(watches: Watches) -> Iterator[Metric]:
    """How the watches of the cluster go on."""
    lists = [((kind, reason), count) for (kind, reason), count in sorted(watches.lists.items())]
    yield counter("kuelog_watch_lists_total", lists)
    heard = [((kind,), in_seconds(at)) for kind, at in sorted(watches.heard.items())]
    yield gauge("kuelog_watch_last_event_timestamp_seconds", heard)


def _exemplars(appends: Appends) -> dict[int, Exemplar]:
    """By bucket, the last append in it whose trace is exported."""
    return {
        bucket: Exemplar({"trace_id": one.trace}, in_seconds(one.took), in_seconds(one.at))
        for bucket, one in appends.traced.items()
    }


def _since(then: Millis | None, now: Millis) -> float:
    return 0.0 if then is None else in_seconds(max(now - then, 0))
