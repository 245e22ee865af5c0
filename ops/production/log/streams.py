"""The streams of one log by name: read from its CONTROL stream, and named nowhere else.

Every reader that goes over a log goes over these; docs/decisions/0080-trees-are-placed-in-partitions.md.
"""

from collections.abc import Mapping, Sequence

import msgspec

from events.subjects import CONTROL, DEVICES, FACTS, LOG, decisions_stream, devices_stream, family_of
from ops.production.log.past_gaps import read_past_gaps
from services.runtime.control_log import Control
from services.runtime.log_port import Bus, Entry

PARTITION, DEVICE_PARTITION = decisions_stream("0"), devices_stream("default")


class SeveralPartitions(Exception):
    """What was asked goes by the world of one partition of trees, and the log has several."""

    def __init__(self, partitions: Sequence[str]) -> None:
        super().__init__(
            f"the trees of this log are placed in {len(partitions)} partitions ({', '.join(partitions)}), and this "
            "looks at one only: ask `kuelog explain`, `kuelog top` or `kuelog replay`, which look at all of them"
        )


class LogStreams(msgspec.Struct, frozen=True):
    """The partitions of a log, and with FACTS and CONTROL all of its streams."""

    trees: tuple[str, ...] = (PARTITION,)
    """The partitions in which queues and workloads are decided."""
    pools: tuple[str, ...] = (DEVICE_PARTITION,)
    """The partitions in which cards are given."""

    @property
    def sole(self) -> str:
        """The partition of all trees. Raises `SeveralPartitions`."""
        if len(self.trees) != 1:
            raise SeveralPartitions(self.trees)
        return self.trees[0]

    @property
    def pool(self) -> str:
        """The name of the stream on which all cards are decided about."""
        return self.pools[0]

    @property
    def partitions(self) -> tuple[str, ...]:
        """All that hold decisions, those of trees first."""
        return *self.trees, *self.pools

    @property
    def every(self) -> tuple[str, ...]:
        """All streams; what others rest on comes first, but for the partitions, which rest on each other."""
        return CONTROL, FACTS, *self.partitions

    @property
    def witnessed(self) -> tuple[str, ...]:
        """All streams as the witness takes note of them: what rests on others first."""
        return *self.partitions, FACTS, CONTROL

    @property
    def rolled(self) -> tuple[str, ...]:
        """The streams that grow: what people enter on CONTROL stays few, and is read from its beginning by all."""
        return *self.partitions, FACTS

    def inputs(self, partition: str) -> tuple[str, ...]:
        """What a partition folds beside its own decisions."""
        return (FACTS, *self.trees) if family_of(partition) == DEVICES else (*self.pools, FACTS)


def is_stream(name: str) -> bool:
    """Whether a log may have a stream of that name."""
    family, _, place = name.partition("_")
    return name in (FACTS, CONTROL) or (family in (LOG, DEVICES) and bool(place))


SOLE = LogStreams()
"""The streams of a log whose trees are all in one partition: of every log, until it says otherwise on CONTROL."""


def streams_of(partitions: int) -> LogStreams:
    """The streams of a log with so many partitions of trees."""
    return LogStreams(trees=tuple(decisions_stream(str(number)) for number in range(partitions)))


def streams_known(control: Control) -> LogStreams:
    """The streams of a log whose CONTROL stream was taken in."""
    return streams_of(control.partitions)


def streams_in(entries: Mapping[str, Sequence[Entry]]) -> LogStreams:
    """The streams of a log that was read."""
    return streams_known(Control(entries.get(CONTROL, ())))


async def streams_on(bus: Bus, archived: Sequence[Entry] = ()) -> LogStreams:
    """The streams of the log on a bus, by what its CONTROL stream says behind what is archived of it.

    What that has lost is for whoever reads it to say. Raises `LogUnavailable`.
    """
    control = Control(archived)
    async for batch in read_past_gaps(await bus.stream(CONTROL)):
        control.take(batch)
    return streams_known(control)
