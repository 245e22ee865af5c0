"""What the verifier of this process has decided again, what came out otherwise, and when it was last done."""

from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from events.event import Millis
from ops.production.fold_positions import FoldPositions
from ops.production.metrics.families import counter, gauge, in_seconds
from ops.production.wiring import Running

DECISION, STATE = "decision", "state"


class VerificationMetrics(Collector):
    """Collects from the verifications of this process; no samples where nothing is decided again."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._done: dict[str, Millis] = {}

    def look(self, found: FoldPositions) -> None:
        """Note which partitions are verified up to the end that their stream has now."""
        for one in found.positions:
            if one.partition == one.stream and one.last == one.folded:
                self._done[one.partition] = self._running.ports.clock.now()

    def collect(self) -> Iterator[Metric]:
        """All of them, by partition."""
        by_partition = sorted(self._running.verifications.items())
        yield counter("kuelog_replay_verified_total", [((name,), one.verified) for name, one in by_partition])
        differences = [
            ((name, what), count)
            for name, one in by_partition
            for what, count in ((DECISION, one.different), (STATE, one.other_states))
        ]
        yield gauge("kuelog_replay_differences", differences)
        yield gauge("kuelog_replay_other_rules", [((name,), one.passed_over) for name, one in by_partition])
        done = [((name,), in_seconds(self._done.get(name, 0))) for name, _ in by_partition]
        yield gauge("kuelog_replay_verified_timestamp_seconds", done)
