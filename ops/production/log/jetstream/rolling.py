"""Rolling: a stream of the log goes on in a fresh stream of the server, and the old one listens no more.

Three steps, each of which may be done again by anybody after a crash: the old stream is turned away from the subjects of the
log; a mark is put behind its last message, on the condition that it is the last; the fresh stream is created with the sequence
of the mark as its first. Between the first and the third nothing is taken in, and whoever appends tries again. What was in
flight lies before the mark, or fails at it; a fact that strayed behind it is published again before the old stream is removed.
"""

import asyncio

import structlog

from events.json_object import JsonObject
from events.subjects import FACTS
from ops.production.log.jetstream.bus import JetStreamBus, subjects_of
from ops.production.log.jetstream.cancellable import cancellable
from ops.production.log.jetstream.generations import (
    Generation,
    asked,
    begin_subject,
    begins_upto,
    decoded,
    generations,
    mark_subject,
    names_of,
    room_name,
)
from ops.production.log.jetstream.pull import PullReader
from ops.production.log.jetstream.refusals import UNANSWERED, unanswered
from ops.production.log.jetstream.stream import PublishAck
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Message

log = structlog.get_logger()

_DEADLINE_S = 5.0


class StillNeeded(Exception):
    """A rolled stream may not be removed yet, and why."""

    def __init__(self, stream: str, why: str) -> None:
        super().__init__(f"what was rolled of {stream} is kept: {why}")
        self.stream, self.why = stream, why


async def roll(bus: JetStreamBus, stream: str) -> int:
    """Have a stream go on in a fresh one; the last sequence of the old one. What a roller before began is finished.

    Does nothing while what was rolled before still stands, or when the stream is empty. Raises `LogUnavailable`.
    """
    found = await generations(bus.client, stream)
    if len(found) == 1 and found[0].takes_in and found[0].last >= found[0].first:
        await _check_room(bus, stream, found[0].name)
        log.info("rolling", stream=stream, upto=found[0].last)
        await _turn_away(bus, stream, found[0])
    return await finish(bus, stream)


async def finish(bus: JetStreamBus, stream: str) -> int:
    """Finish a roll that was begun; the last sequence of the old stream, 0 when none was begun. Raises `LogUnavailable`."""
    while True:
        found = await generations(bus.client, stream)
        old = next((one for one in found if not one.takes_in), None)
        if old is None:
            return 0
        if not old.marked:
            await _mark(bus, stream, old)
        elif not any(one.takes_in for one in found):
            await _begin(bus, stream, old)
        else:
            return old.last


async def remove(bus: JetStreamBus, stream: str) -> None:
    """Remove what was rolled of a stream, for good: only after its archive was verified. Raises `StillNeeded`."""
    found = await generations(bus.client, stream)
    old = next((one for one in found if not one.takes_in), None)
    if old is None:
        return
    fresh = next((one for one in found if one.takes_in), None)
    if fresh is None or not old.marked:
        raise StillNeeded(stream, "it is being rolled")
    if fresh.last < fresh.first:
        raise StillNeeded(stream, "nothing was stored behind it yet")
    await _publish_strays(bus, stream, old)
    # A deletion has no condition, and the next roll but one has the same name: so it is looked at again right before.
    if not any(
        (one.name, one.first, one.takes_in) == (old.name, old.first, False)
        for one in await generations(bus.client, stream)
    ):
        return
    answer = await asked(bus.client, f"STREAM.DELETE.{old.name}", {})
    if answer.get("error") is not None:
        raise LogUnavailable(stream=old.name, problem=str(answer["error"].get("description")))
    log.info("removed", stream=stream, first=old.first, last=old.last)


async def _check_room(bus: JetStreamBus, stream: str, name: str) -> None:
    """The server sets aside what a stream may hold: where it can't for one more, the log must not be turned away."""
    info = await asked(bus.client, f"STREAM.INFO.{name}", {})
    probe = room_name(stream)
    config = {**_kept(info.get("config", {})), "name": probe, "subjects": [f"{mark_subject(stream)}.room"]}
    made = await asked(bus.client, f"STREAM.CREATE.{probe}", config)
    if made.get("error") is not None:
        problem = f"it can't go on in a fresh stream: {made['error'].get('description')}; give the servers more storage"
        raise LogUnavailable(stream=stream, problem=problem)
    await asked(bus.client, f"STREAM.DELETE.{probe}", {})


def _kept(config: JsonObject) -> JsonObject:
    fields = ("storage", "retention", "discard", "max_bytes", "num_replicas", "deny_delete", "deny_purge")
    return {field: value for field, value in config.items() if field in (*fields, "duplicate_window")}


async def _turn_away(bus: JetStreamBus, stream: str, old: Generation) -> None:
    """From here on nobody can create a stream that begins where this one does or earlier: such a roller is out of date."""
    info = await asked(bus.client, f"STREAM.INFO.{old.name}", {})
    if info.get("error") is not None:
        raise LogUnavailable(stream=old.name, problem=str(info["error"].get("description")))
    config = {**info["config"], "subjects": [mark_subject(stream), *begins_upto(stream, old.first)]}
    answer = await asked(bus.client, f"STREAM.UPDATE.{old.name}", config)
    if answer.get("error") is not None:
        raise LogUnavailable(stream=old.name, problem=str(answer["error"].get("description")))


async def _mark(bus: JetStreamBus, stream: str, old: Generation) -> None:
    """Put the mark behind the last message. If another message came first, the caller looks again and tries again."""
    headers = {"Nats-Expected-Last-Sequence": str(old.stored), "Nats-Expected-Stream": old.name}
    try:
        reply = await cancellable(bus.client.request(mark_subject(stream), b"{}", timeout=_DEADLINE_S, headers=headers))
    except UNANSWERED as problem:
        raise unanswered(bus.client, mark_subject(stream), old.name, problem) from problem
    ack = decoded(old.name, reply.data, PublishAck)
    if ack.error is not None:
        # What was still in flight was stored meanwhile, or another roller was here: both show when one looks again.
        log.info("the mark came second", stream=stream, problem=ack.error.get("description"))
        await asyncio.sleep(_AGAIN_S)


async def _begin(bus: JetStreamBus, stream: str, old: Generation) -> None:
    """Create the stream that goes on. Two rollers that do so at once ask for the same one."""
    name = next(one for one in names_of(stream) if one != old.name)
    info = await asked(bus.client, f"STREAM.INFO.{old.name}", {})
    config = {
        **_kept(info.get("config", {})),
        "name": name,
        "subjects": [subjects_of(stream), begin_subject(stream, old.last + 1)],
        "first_seq": old.last + 1,
    }
    answer = await asked(bus.client, f"STREAM.CREATE.{name}", config)
    if answer.get("error") is not None:
        if any(one.takes_in for one in await generations(bus.client, stream)):
            return
        raise LogUnavailable(stream=name, problem=str(answer["error"].get("description")))
    log.info("rolled", stream=stream, upto=old.last, goes_on=name)


async def _publish_strays(bus: JetStreamBus, stream: str, old: Generation) -> None:
    """What an old leader of three servers may have taken in behind the mark: of a partition nothing can be, facts are published again."""
    if old.stored <= old.last + 1:
        return
    if stream != FACTS:
        raise StillNeeded(stream, f"{old.name} holds {old.stored - old.last - 1} message(s) behind its mark")
    strays: list[Message] = []
    async for batch in PullReader(bus.client, stream, old.name).batches(old.last + 1):
        strays.extend(Message(entry.subject, entry.data, entry.message_id) for entry in batch)
        if batch[-1].sequence >= old.stored:
            break
    await (await bus.stream(stream)).publish([one for one in strays if one.subject != mark_subject(stream)])


_AGAIN_S = 0.1
