"""The streams of the server behind one stream of the log: the one that takes in, and those that were rolled and still stand.

A stream of the log that is rolled goes on in another stream of the server, whose first sequence is the one behind the last.
Two names take turns, so that rights can name them. A rolled one listens to no subject of the log any more; the last message in
it is a mark, which belongs to the roller and not to the log, and behind which nothing that is appended on a condition can land.

A copy of a site's log (docs/rules/log.md#copies) listens to nothing at all, and outlives what it is a copy of: under one name it holds
one after the other all that had that name at the site, each but the last up to its mark.
"""

from itertools import pairwise
from typing import Any, TypeVar

import msgspec
from nats.aio.client import Client

from events.json_object import JsonObject
from ops.production.log.jetstream.cancellable import cancellable
from ops.production.log.jetstream.connection import is_answered
from ops.production.log.jetstream.refusals import UNANSWERED, AnsweredError, unanswered
from services.runtime.log_errors import LogUnavailable

T = TypeVar("T")

NOT_THERE = 10059
_DIGITS = 12
"""Of a sequence, as a subject names it."""
NO_MESSAGE = 10037
_DEADLINE_S = 5.0


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """One stream of the server, of the several that hold a stream of the log one after the other."""

    name: str
    first: int
    """The sequence that its first message has or will have."""
    last: int
    """The last sequence of the log that it holds; `first - 1` while it is empty."""
    takes_in: bool
    """Whether what is appended now lands in it."""
    marked: bool
    """Whether it is rolled for good: its mark stands behind `last`."""
    stored: int
    """The last sequence of the server's stream, the mark and what strayed behind it included."""
    whole: bool = True
    """Whether the server has every message from its first to its last."""
    begun: str = ""
    """When its first message was stored, in the server's words; empty while there is none."""
    bytes: int = 0
    limit: int = 0
    """How many bytes it may hold; 0 when nothing limits it."""
    copied: bool = False
    """Whether it is a copy of what stands at a site, and takes in what comes from there and nothing else."""


class _Configured(msgspec.Struct, frozen=True):
    subjects: tuple[str, ...] = ()
    first_seq: int = 0
    max_bytes: int = -1
    mirror: JsonObject | None = None


class _State(msgspec.Struct, frozen=True):
    messages: int = 0
    bytes: int = 0
    first_seq: int = 0
    last_seq: int = 0
    first_ts: str = ""


class _Info(msgspec.Struct, frozen=True):
    config: _Configured = _Configured()
    state: _State = _State()
    error: AnsweredError | None = None


class _Message(msgspec.Struct, frozen=True):
    seq: int = 0


class _Found(msgspec.Struct, frozen=True):
    message: _Message = _Message()
    error: AnsweredError | None = None


def names_of(stream: str) -> tuple[str, str]:
    """The two names that a stream of the log has on the server, in turns."""
    return stream, f"{stream}-2"


def room_name(stream: str) -> str:
    """The stream of the server by which it is tried whether there is room for one more."""
    return f"{stream}-room"


def mark_subject(stream: str) -> str:
    """The only subject that a stream listens to once it is rolled."""
    return f"kuelog.rolled.{stream}"


def begin_subject(stream: str, first: int) -> str:
    """A subject that nothing is published on: the stream of the server that begins at a sequence listens to it."""
    return ".".join((mark_subject(stream), "from", *f"{first:0{_DIGITS}d}"))


def begins_upto(stream: str, first: int) -> list[str]:
    """Subjects that cover the `begin_subject` of every sequence up to one, and of no later one.

    The server creates no stream that listens to what another one listens to. While these are listened to, nobody can create a
    stream that begins there, however long ago he had decided to.
    """
    digits = f"{first:0{_DIGITS}d}"
    found = [begin_subject(stream, first)]
    for place, digit in enumerate(digits):
        rest = [">"] if place < _DIGITS - 1 else []
        head = (mark_subject(stream), "from", *digits[:place])
        found += [".".join((*head, str(lower), *rest)) for lower in range(int(digit))]
    return found


async def generations(client: Client, stream: str) -> list[Generation]:
    """All that stand, the oldest first; none when the stream was never created. Raises `LogUnavailable`."""
    found = [one for name in names_of(stream) for one in await _generations(client, stream, name)]
    return _as_far_as_copied(sorted(found, key=lambda one: (one.first, one.takes_in)))


def _as_far_as_copied(found: list[Generation]) -> list[Generation]:
    """Of a copy only what has come without a gap: the two names of a stream are copied each by itself."""
    for index, (before, one) in enumerate(pairwise(found), start=1):
        if one.copied and one.first != before.last + 1:
            return found[:index]
    return found


async def _generations(client: Client, stream: str, name: str) -> list[Generation]:
    info = as_answer(name, await asked(client, f"STREAM.INFO.{name}", {}), _Info)
    if info.error is not None:
        if info.error.err_code == NOT_THERE:
            return []
        raise LogUnavailable(stream=name, problem=info.error.description)
    if info.config.mirror is not None:
        return await _copied(client, stream, name, info.state)
    first = max(info.config.first_seq, 1)
    stored = max(info.state.last_seq, first - 1)
    takes_in = mark_subject(stream) not in info.config.subjects
    mark = 0 if takes_in else await next_under(client, name, mark_subject(stream), 1)
    return [
        Generation(
            name=name,
            first=first,
            # Of several marks the first counts: what was rolled stays so.
            last=mark - 1 if mark else stored,
            takes_in=takes_in,
            marked=bool(mark),
            stored=stored,
            whole=info.state.messages >= stored - first + 1,
            begun=info.state.first_ts if info.state.messages else "",
            bytes=info.state.bytes,
            limit=max(info.config.max_bytes, 0),
        )
    ]


async def _copied(client: Client, stream: str, name: str, state: _State) -> list[Generation]:
    """What a copy holds: from its first message to its first mark, from the next one to the next mark, and so on."""
    found: list[Generation] = []
    first, stored = state.first_seq, state.last_seq
    while state.messages and 0 < first <= stored:
        mark = await next_under(client, name, mark_subject(stream), first)
        one = Generation(
            name=name,
            first=first,
            last=mark - 1 if mark else stored,
            takes_in=not mark,
            marked=bool(mark),
            stored=mark or stored,
            # Between what was copied one after the other the server counts the sequences that were elsewhere.
            whole=not found and not mark and state.messages >= stored - first + 1,
            begun=state.first_ts if not found else "",
            bytes=state.bytes,
            copied=True,
        )
        if one.last >= one.first:
            found.append(one)
        first = await next_under(client, name, ">", mark + 1) if mark else 0
    return found


async def next_under(client: Client, name: str, subject: str, first: int) -> int:
    """The sequence of the first message under a subject in a stream of the server, from a sequence on; 0 where there is none."""
    body = {"seq": first, "next_by_subj": subject}
    found = as_answer(name, await asked(client, f"STREAM.MSG.GET.{name}", body), _Found)
    if found.error is None:
        return found.message.seq
    if found.error.err_code in (NO_MESSAGE, NOT_THERE):
        return 0
    raise LogUnavailable(stream=name, problem=found.error.description)


async def asked(client: Client, what: str, body: Any) -> JsonObject:
    """The server's answer to a question about its streams. Raises `LogUnavailable`."""
    subject, stream = f"$JS.API.{what}", what.rpartition(".")[2]
    try:
        reply = await cancellable(client.request(subject, msgspec.json.encode(body), timeout=_DEADLINE_S))
    except UNANSWERED as problem:
        raise unanswered(client, subject, stream, problem) from problem
    is_answered(client, subject)
    answer = decoded(stream, reply.data, JsonObject)
    if not isinstance(answer.get("error"), dict | None):
        raise LogUnavailable(stream=stream, problem=_NO_ANSWER.format("its error is none"))
    return answer


def decoded(stream: str, data: bytes, kind: type[T]) -> T:
    """An answer from its bytes. Raises `LogUnavailable`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise LogUnavailable(stream=stream, problem=_NO_ANSWER.format(problem)) from problem


def as_answer(stream: str, answer: JsonObject, kind: type[T]) -> T:
    """What an answer says. Raises `LogUnavailable`."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.MsgspecError as problem:
        raise LogUnavailable(stream=stream, problem=_NO_ANSWER.format(problem)) from problem


_NO_ANSWER = "what answers there is no NATS server with JetStream that kuelog knows: {}"
