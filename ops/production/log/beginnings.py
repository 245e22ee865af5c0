"""Whether every service that starts anew finds a saved world behind a part of a stream that is to go."""

from collections.abc import Sequence

from events.subjects import FACTS, LOG, family_of
from ops.production.log.jetstream.rolling import StillNeeded
from ops.production.log.snapshots import names_world
from services.runtime.control_log import Control
from services.runtime.log_port import Bus
from services.runtime.shelf_port import Shelf, ShelfLabel
from services.watcher.saved_view import KEY, is_of_log, seal_of


async def check_beginnings(
    bus: Bus, shelf: Shelf, keys: Sequence[str], stream: str, upto: int, control: Control
) -> None:
    """One of every key that reads the stream, and that the log vouches for, has to lie behind what goes; a fork that has none begins at one of its origin.

    Raises `StillNeeded`, `LogUnavailable`.
    """
    for asked in keys:
        key = await _beginning(bus, shelf, asked, control)
        if not _reads(key, stream, control):
            continue
        # The message that a beginning names has to stand, or nobody could hold the beginning against the log.
        begun = key != stream and stream in control.lineage(key)
        beyond = [one for one in await shelf.labels(key) if begun or one.upto.get(stream, 0) > upto]
        if not any([await _counts(bus, shelf, one) for one in beyond]):
            raise StillNeeded(stream, f"no saved world of {asked} that the log vouches for goes beyond {upto} yet")


async def _beginning(bus: Bus, shelf: Shelf, key: str, control: Control) -> str:
    """Whose saved world a service that starts anew would begin at."""
    lineage = control.lineage(key)
    for name in reversed(lineage):
        if any([await _counts(bus, shelf, one) for one in await shelf.labels(name)]):
            return name
    return lineage[0]


def _reads(key: str, stream: str, control: Control) -> bool:
    """Whether who begins anew reads a stream: a partition of trees none of the others but those of which it is a fork."""
    return family_of(stream) != LOG or family_of(key) != LOG or stream in control.lineage(key)


async def _counts(bus: Bus, shelf: Shelf, label: ShelfLabel) -> bool:
    """Whether a service that starts anew would begin there: anybody may have put a label last."""
    if label.key == KEY:
        seal = seal_of(await shelf.take(label))
        return seal is not None and await is_of_log(await bus.stream(FACTS), seal)
    return await names_world(await bus.stream(label.key), label)
