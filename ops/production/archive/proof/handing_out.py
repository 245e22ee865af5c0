"""Checkpoints that are handed out by themselves, to where this machine can't change them.

A place is a folder or any storage that fsspec knows, an address of HTTP to which they are posted, or a subject on a second bus.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import msgspec
import nats
import nats.errors
import structlog

from events.event import Millis
from ops.files.reading import Unreadable, json_of
from ops.production.archive.errors import FolderUnreadable, StampRefused
from ops.production.archive.folder import Folder
from ops.production.archive.proof.checkpoint import Checkpoint
from ops.production.archive.proof.evidence import Statement, stamped_text
from ops.production.archive.proof.keys import ring_in
from ops.production.archive.proof.witness import HEADS
from services.runtime.clock_port import Clock

log = structlog.get_logger()

EVERY_MS: Millis = 3_600_000
AGAIN_MS: Millis = 30_000
_SUBJECT = "kuelog.checkpoints"
_PATIENCE_S = 20.0
_BAD = 300


class HandingOut:
    """Hands out what a witness has signed, once an hour while it grows; what did not get through is tried again."""

    def __init__(self, witness: Path, places: Sequence[str], server: str = "") -> None:
        """`server`: whose time stamp each checkpoint gets, by its address."""
        self._witness, self._places, self._server = witness, tuple(places), server
        self.problems: dict[str, str] = {}
        """By place, or the server of time stamps, why the last try came to nothing."""
        self.handed: dict[str, Millis] = {one: 0 for one in map(shown, places)}
        """By place when something was handed out there last; 0 before the first time."""
        self._known: dict[str, str] = {}
        """By place the checkpoints that were handed out there last."""

    @property
    def worth_knowing(self) -> list[str]:
        """Its problems, a sentence each."""
        return [f"checkpoints are not handed out to {place}: {why}" for place, why in sorted(self.problems.items())]

    @property
    def outstanding(self) -> dict[str, bool]:
        """By place whether the last try came to nothing: a place that has all that was signed lacks nothing, however old that is."""
        return {place: place in self.problems for place in self.handed}

    async def run(self, clock: Clock) -> None:
        """Hand out until cancelled; without a place there is nothing to do."""
        while self._places:
            await clock.sleep(AGAIN_MS)
            await self.look(clock.now())

    async def look(self, now: Millis) -> None:
        """Hand out to each place where it is due; problems are kept, and logged when they are new."""
        due = [place for place in self._places if self._is_due(place, now) or self._server_failed]
        statement = await asyncio.to_thread(statement_in, self._witness) if due else None
        if statement is None:
            return
        plain = hashlib.sha256(stamped_text(statement)).hexdigest()
        due = [place for place in due if self._known.get(place) != plain or self._server_failed]
        if due and self._server:
            statement = await self._stamped(statement)
        if self._server_failed:
            # Once without a stamp is enough, until it is due or can be stamped.
            due = [place for place in due if self._is_due(place, now) and self._known.get(place) != plain]
        for place in due:
            await self._hand_out(place, statement, plain, now)

    def _is_due(self, place: str, now: Millis) -> bool:
        return bool(self.problems.get(shown(place))) or now - self.handed[shown(place)] >= EVERY_MS

    @property
    def _server_failed(self) -> bool:
        return bool(self._server) and shown(self._server) in self.problems

    async def _stamped(self, statement: Statement) -> Statement:
        # Only who has checkpoints stamped pays for it: 3 MB.
        from ops.production.archive.proof.timestamps import stamp  # noqa: PLC0415

        try:
            token = await stamp(self._server, stamped_text(statement))
        except StampRefused as problem:
            self._failed(self._server, f"no time stamp: {problem}")
            return statement
        self.problems.pop(shown(self._server), None)
        return msgspec.structs.replace(statement, timestamps=(token,))

    async def _hand_out(self, place: str, statement: Statement, plain: str, now: Millis) -> None:
        name, data = file_of(statement)
        try:
            await hand_out(place, name, data)
        except NotHandedOut as problem:
            self._failed(place, str(problem))
            return
        self.problems.pop(shown(place), None)
        self.handed[shown(place)], self._known[place] = now, plain
        log.info("checkpoints handed out", place=shown(place), name=name)

    def _failed(self, place: str, why: str) -> None:
        told = log.debug if self.problems.get(shown(place)) == why else log.warning
        told("checkpoints not handed out", place=shown(place), problem=why)
        self.problems[shown(place)] = why


class NotHandedOut(Exception):
    """A place did not take a checkpoint. The message says why."""


def statement_in(witness: Path) -> Statement | None:
    """All checkpoints of a witness folder with the keys that they need; None where there are none yet, or they can't be read now."""
    try:
        heads = json_of((witness / HEADS).read_bytes(), dict[str, Checkpoint], witness / HEADS)
        keys = ring_in(witness)
    except (OSError, Unreadable):
        return None  # That the witness can't keep its folder is told by the witness.
    bare = {stream: msgspec.structs.replace(head, peaks=()) for stream, head in heads.items() if head.root}
    return Statement(keys=keys, heads=bare) if bare else None


def file_of(statement: Statement) -> tuple[str, bytes]:
    """The file of checkpoints: named by its content, so that none is ever overwritten by another."""
    data = msgspec.json.encode(statement, order="deterministic")
    total = sum(head.sequence for head in statement.heads.values())
    return f"checkpoint-{total}-{hashlib.sha256(data).hexdigest()[:8]}.json", data


async def hand_out(place: str, name: str, data: bytes) -> None:
    """Give a file to a place. Raises `NotHandedOut`."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            match urlsplit(place).scheme:
                case "http" | "https":
                    await _post(place, name, data)
                case "nats" | "tls":
                    await _publish(place, name, data)
                case _:
                    await asyncio.to_thread(lambda: Folder(place).write(name, data))
    except FolderUnreadable as problem:
        raise NotHandedOut(str(problem)) from problem
    except (aiohttp.ClientError, nats.errors.Error, TimeoutError, OSError, ValueError) as problem:
        raise NotHandedOut(f"it does not answer: {str(problem) or type(problem).__name__}") from problem


def shown(place: str) -> str:
    """A place without the password that its address may have, whatever stands in that, and without what is asked of it."""
    scheme, mark, rest = place.partition("://")
    if not mark:
        return place
    before, _, after = rest.rpartition("@")
    if ":" in before:
        rest = f"{before.partition(':')[0]}@{after}"
    address, asked, _ = rest.partition("?")
    return f"{scheme}{mark}{address}{'?…' if asked else ''}"


async def _post(place: str, name: str, data: bytes) -> None:
    headers = {"Content-Type": "application/json", "Kuelog-Checkpoint": name}
    async with (
        aiohttp.ClientSession() as session,
        # Whoever is sent elsewhere asks there, and leaves nothing: that a page was found is no receipt.
        session.post(place, data=data, headers=headers, allow_redirects=False) as answer,
    ):
        if answer.status >= _BAD:
            raise NotHandedOut(f"it answers with {answer.status} {answer.reason}")


async def _publish(place: str, name: str, data: bytes) -> None:
    parts = urlsplit(place)
    subject = parts.path.strip("/") or _SUBJECT
    server = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
    bus = await nats.connect(server, error_cb=_heed, allow_reconnect=False, max_reconnect_attempts=0)
    try:
        # The bus says when it is stored: where no stream takes the subject there is no answer.
        await bus.jetstream().publish(subject, data, headers={"Nats-Msg-Id": name})
    finally:
        await bus.close()


async def _heed(_: Exception) -> None:
    """What keeps it from answering is told by whoever waits; the library would write all of its traceback beside that."""
