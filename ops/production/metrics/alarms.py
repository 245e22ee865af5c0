"""What somebody has to act on, as Prometheus metrics: what halts, fails, is left alone, is amiss or is skipped."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from events.rules import RULES
from ops.production.wiring import Running
from projections.preemption.loops import preemption_loops
from projections.set_aside.records import Aside, Scope
from services.runtime.partition.halts import KINDS

Counts = dict[tuple[str, ...], int]
PREEMPTOR = "preemptor"


class AlarmMetrics(Collector):
    """Collects from the services of this process."""

    def __init__(self, running: Running) -> None:
        self._running = running

    def collect(self) -> Iterator[Metric]:
        """All of them; what is not there is not told, but for halts, each of which is told as 0."""
        hosts = self._running.hosts
        control = self._running.control
        halted = {(partition, kind): int(kind in one.halts.kinds) for partition, one in hosts.items() for kind in KINDS}
        yield _gauge(
            "kuelog_partition_halted", "1 for each reason that halts a partition", ("partition", "reason"), halted
        )
        failing = {(partition, who): 1 for partition, one in hosts.items() for who in one.halts.failing}
        yield _gauge("kuelog_failing", "1 for who fails while the others go on", ("partition", "who"), failing)
        yield _gauge(
            "kuelog_set_aside", "What is left alone, by who failed on it", ("service", "scope"), self._asides()
        )
        yield _gauge("kuelog_amiss_messages", "Messages that are not as they must be", _AMISS, self._amiss())
        skipped = Counter((stream,) for stream, _ in control.skipped)
        yield _gauge("kuelog_quarantined_messages", "Messages that an operator had skipped", ("stream",), dict(skipped))
        loops = {(partition,): len(preemption_loops(one.fold.world)) for partition, one in hosts.items()}
        yield _gauge(
            "kuelog_preemption_loops",
            "Workloads that preempt and are preempted again and again; two that preempt each other count once",
            ("partition",),
            loops,
        )
        again = {(stream,): count for stream, count in self._running.given_back.items()}
        yield _gauge("kuelog_given_back_messages", "Messages that the bus had lost and got again", ("stream",), again)
        unread = {("CONTROL",): len(control.unread)}
        yield _gauge("kuelog_ignored_messages", "Words of control that do not count", ("stream",), unread)

    def _asides(self) -> Counts:
        found: dict[str, Aside] = {}
        for host in self._running.hosts.values():
            found |= host.fold.world.aside
        # What failed under other rules is tried again under these.
        return dict(Counter((one.service, _scope(one)) for one in found.values() if one.rules == RULES))

    def _amiss(self) -> Counts:
        found: Counts = {}
        for host in self._running.hosts.values():
            for one in host.fold.world.amiss.values():
                key = (one.stream, one.what, one.author)
                # Two partitions fold the same facts, and one may be further than the other.
                found[key] = max(one.count, found.get(key, 0))
        return found


def _scope(one: Aside) -> str:
    return "request" if one.service == PREEMPTOR and one.scope is Scope.WORKLOAD else one.scope.value


def _gauge(name: str, help_text: str, labels: tuple[str, ...], counts: Counts) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for values, count in sorted(counts.items()):
        family.add_metric(values, count)
    return family


_AMISS = ("stream", "what", "author")
