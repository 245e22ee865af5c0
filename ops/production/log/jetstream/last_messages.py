"""Streams in which the last message of each subject is what counts: read one, and replace it on a condition."""

from collections.abc import Mapping

import msgspec
from nats.aio.client import Client

from ops.production.log.jetstream.cancellable import cancellable
from ops.production.log.jetstream.connection import is_answered
from ops.production.log.jetstream.generations import NO_MESSAGE, NOT_THERE, as_answer, asked, decoded
from ops.production.log.jetstream.refusals import UNANSWERED, AnsweredError, refusal, unanswered
from services.runtime.log_errors import LogUnavailable

MOVED_ON = 10071
"""What the server says when another message than expected is the last of a subject."""


class LastMessage(msgspec.Struct, frozen=True):
    """The last message of a subject; sequence 0 where there is none."""

    seq: int = 0
    data: str = ""
    """Its bytes in base64, as the server gives them."""


class _Found(msgspec.Struct, frozen=True):
    message: LastMessage = LastMessage()
    error: AnsweredError | None = None


class _Ack(msgspec.Struct, frozen=True):
    seq: int = 0
    error: AnsweredError | None = None


async def last_message(client: Client, stream: str, subject: str) -> LastMessage:
    """The last message of a subject. Raises `LogUnavailable`."""
    answer = await asked(client, f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject})
    found = as_answer(stream, answer, _Found)
    if found.error is None:
        return found.message
    if found.error.err_code in (NO_MESSAGE, NOT_THERE):
        return LastMessage()
    raise LogUnavailable(stream=stream, problem=found.error.description)


async def replace_message(
    client: Client, stream: str, subject: str, data: bytes, *, condition: Mapping[str, str], deadline_s: float
) -> int:
    """Store a message on a condition: its sequence, 0 where the condition does not hold. Raises `LogUnavailable`."""
    try:
        reply = await cancellable(client.request(subject, data, timeout=deadline_s, headers=dict(condition)))
    except UNANSWERED as problem:
        raise unanswered(client, subject, stream, problem) from problem
    is_answered(client, subject)
    ack = decoded(stream, reply.data, _Ack)
    if ack.error is None:
        return ack.seq
    if ack.error.err_code == MOVED_ON:
        return 0
    raise refusal(stream, msgspec.to_builtins(ack.error))
