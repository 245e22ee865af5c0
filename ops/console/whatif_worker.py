"""`python -m ops.console.whatif_worker`: one what-if in a process of its own, asked on standard input and told line by line.

It yields the processor to everybody else, and ends with all that it has started when who asked it ends it.
"""

import asyncio
import os
import sys
import time

import msgspec

from events.json_object import JsonObject
from ops.console.whatif_words import AskedWhatIf, Errand, Told
from ops.files.manifests import ManifestBroken
from ops.production.archive.errors import LOG_UNREADABLE
from ops.production.archive.history import History, read_everything
from ops.production.log.jetstream.bus import connect
from ops.queries.point import NotOnTheLog
from ops.queries.settings_change import BadChange
from ops.queries.time_travel import BadTime
from ops.queries.whatif.change import ForkChanges
from ops.queries.whatif.compare import AS_IT_WAS, CHANGED, compared
from ops.queries.whatif.fork import Fork

_NICE = 10
_EVERY_S = 0.2
_TOLD = (BadChange, BadTime, NotOnTheLog, ManifestBroken, *LOG_UNREADABLE)


def answered(log: History, asked: AskedWhatIf) -> JsonObject:
    """The two runs compared. Raises what `kuelog whatif` tells as a message."""
    fork = Fork(log, asked.at, ForkChanges(asked.settings, (), asked.removed, (), asked.more))
    progress: dict[str, tuple[int, int]] = {AS_IT_WAS: (0, 0), CHANGED: (0, 0)}
    last = 0.0

    def on_progress(name: str, done: int, total: int) -> None:
        nonlocal last
        progress[name] = done, total
        if time.monotonic() - last >= _EVERY_S:
            last = time.monotonic()
            tell(Told(progress=progress))

    tell(Told(progress=progress))
    found = compared(fork, on_progress)
    return {
        "at": fork.point.at,
        "sequences": fork.point.upto,
        "arrivals": fork.arrivals,
        "step": fork.step,
        "comparison": msgspec.to_builtins(found),
    }


def tell(told: Told) -> None:
    """Say one line."""
    sys.stdout.buffer.write(msgspec.json.encode(told) + b"\n")
    sys.stdout.buffer.flush()


async def _read(errand: Errand) -> History:
    bus = await connect(errand.nats)
    try:
        return await read_everything(bus, errand.archive)
    finally:
        await bus.close()


def main() -> None:
    """Do the errand."""
    os.nice(_NICE)
    errand = msgspec.json.decode(sys.stdin.buffer.read(), type=Errand)
    try:
        tell(Told(result=answered(asyncio.run(_read(errand)), errand.asked)))
    except _TOLD as problem:
        tell(Told(problem=str(problem)))


if __name__ == "__main__":
    main()
