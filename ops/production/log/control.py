"""Saying something on the stream of control: what an operator orders, and how fast the clocks of a log run."""

import hashlib
from contextlib import suppress

from events.catalogue import ControlEvent
from events.codec import encode
from events.commit import Commit
from events.control import ClockScaled
from events.event import Millis
from events.hash_chain import GENESIS
from events.rules import RULES
from events.subjects import CONTROL, commit_subject
from services.runtime.control_log import Control, read_control
from services.runtime.log_errors import LogMovedOn
from services.runtime.log_port import Stream

OPERATOR = "operator"


async def say(control: Stream, event: ControlEvent, at: Millis) -> int:
    """Store an event behind all that is there; its sequence. Raises `LogMovedOn`, `LogUnavailable`."""
    head = await control.last()
    return await say_behind(control, event, at, base=head.sequence, prev_hash=head.sha256 or GENESIS)


async def say_behind(control: Stream, event: ControlEvent, at: Millis, *, base: int, prev_hash: str) -> int:
    """Store an event if the stream still ends where it was read to; its sequence. Raises `LogMovedOn`, `LogUnavailable`."""
    commit = said(event, at, base=base, prev_hash=prev_hash)
    return await control.append(commit_subject(CONTROL, OPERATOR), encode(commit), message_id=commit.id, base=base)


def said(event: ControlEvent, at: Millis, *, base: int = 0, prev_hash: str = GENESIS) -> Commit:
    """The commit that says it behind what ends there; the first of a log, if nothing does."""
    return Commit(
        id=hashlib.sha256(encode(event) + str(base).encode()).hexdigest()[:32],
        prev_hash=prev_hash,
        partition=CONTROL,
        base=base,
        inputs=(),
        author=OPERATOR,
        epoch=0,
        rules=RULES,
        at=at,
        events=(event,),
    )


async def record_rate(stream: Stream, known: Control, rate: int, since: Millis) -> None:
    """Have it on record that clocks run so many thousandths as fast as the bus's, unless it is."""
    now = await stream.now()
    since = min(since, now)
    while now and not known.scaled(rate, since):
        with suppress(LogMovedOn):  # Somebody else may have said it.
            await say(stream, ClockScaled(since=since, rate=rate), now)
        await read_control(stream, known)
