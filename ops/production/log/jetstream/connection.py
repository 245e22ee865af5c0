"""A connection to NATS that hears what the server says beside the answers: what may not be done, and why it closes a connection.

A request that is refused fails at once, because no answer to it comes. Whatever a server closes a connection for may
pass: too many connections, a user that is not there just now. The client on its own would close for good.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from typing import Any, NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionReconnectingError, Error, NoRespondersError, NoServersError
from nats.errors import TimeoutError as NatsTimeout

from ops.production.log.jetstream.cancellable import cancellable
from ops.production.log.jetstream.encryption import is_asked_for

_VIOLATION = re.compile('permissions violation for publish to "(.*)"')
_CLOSING = re.compile("^nats: '(.*)'$")
_QUESTIONS, _ALL_QUESTIONS = "$JS.API.", "$JS."
_LOOKS = ("$JS.API.STREAM.INFO.", "$JS.API.STREAM.MSG.GET.")
"""What questions begin with that change nothing, however often they are asked."""
_AGAIN_S = 1.0
"""So long such a question waits before it is asked once more: nobody hears it while the servers choose who leads the stream."""
_NOBODY_THERE = "503"
_FOR_EVER: dict[str, Any] = {"allow_reconnect": True, "max_reconnect_attempts": -1, "reconnect_time_wait": 0.2}


def domain_questions(domain: str) -> str:
    """What all subjects begin with under which a JetStream domain is asked about its streams."""
    return f"$JS.{domain}.API."


class MayNot(Error):
    """The server does not let this user publish there."""

    def __init__(self, subject: str) -> None:
        super().__init__(f"it may not publish to {subject}")
        self.subject = subject


class NotEncrypted(Error):
    """The server takes no TLS, where the address asks for it: nothing is said to it, least of all the password."""

    def __init__(self) -> None:
        super().__init__(
            "the server takes no TLS: write nats:// for one that speaks in plain text, or give it a certificate"
        )


class Publication(NamedTuple):
    """What is published to a subject so that it is answered."""

    subject: str
    payload: bytes
    headers: Mapping[str, str]


class _Round:
    """Questions that are asked together, and what came of each so far."""

    def __init__(self, questions: Sequence[Publication]) -> None:
        self.questions = questions
        self.answers: dict[int, Msg | Error] = {}
        self.whole = asyncio.Event()

    def take(self, number: int, answer: Msg | Error) -> None:
        """The answer to one of them; what comes again counts no more."""
        self.answers.setdefault(number, answer)
        if len(self.answers) == len(self.questions):
            self.whole.set()

    def refuse(self, subject: str) -> None:
        """The server does not let this user publish there."""
        for number, one in enumerate(self.questions):
            if one.subject.lower() == subject:
                self.take(number, MayNot(one.subject))


class Connection(Client):
    """A connection of ours. The client writes what the server says of violations in lower case."""

    def __init__(self, domain: str = "") -> None:
        super().__init__()
        self.domain = domain
        """The JetStream domain whose streams are asked for, behind the server that is connected to; its own when empty."""
        self.closed_for = ""
        """Why the server has closed the connection or does not take it, in its words; empty when it takes it."""
        self.broken_by: Exception | None = None
        """Why the last attempt to connect came to nothing, beside what the server itself says."""
        self._encrypted = self._given_up = False
        self.unreadable: dict[str, str] = {}
        """By stream of the log: where its reader would have to publish so as to read on, and may not."""
        self._refused: set[str] = set()
        self._asking: dict[asyncio.Timeout, str] = {}
        self._rounds: dict[str, _Round] = {}
        """By the name under which their answers come."""
        self._inbox = ""
        self._names = count()
        self.on_return: set[Callable[[], None]] = set()
        """Called when the connection is there again after it was lost."""

    async def begin(self, addresses: list[str], *, name: str, believes: ssl.SSLContext | None = None) -> None:
        """Connect, and connect anew for ever whenever the connection is lost; to `tls://` never in plain text."""
        self._encrypted = is_asked_for(addresses)
        try:
            await cancellable(self._begin(addresses, name, believes))
        except BaseException:
            self._given_up = True
            if self._transport is not None:
                self._transport.close()
            raise

    async def _begin(self, addresses: list[str], name: str, believes: ssl.SSLContext | None) -> None:
        await self.connect(
            addresses,
            name=name,
            error_cb=self._hear,
            reconnected_cb=self._is_back,
            **({"tls": believes} if believes is not None else {}),
            **_FOR_EVER,
        )
        if self._given_up:
            await self.close()
            return
        await self._is_back()

    async def close(self) -> None:
        """Let go of the connection, also of one that breaks meanwhile."""
        with suppress(OSError):
            await super().close()
        if self._transport is not None:
            self._transport.close()

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float = 0.5,  # noqa: ASYNC109 - as the client has it
        old_style: bool = False,  # noqa: FBT001, FBT002 - as the client has it
        headers: dict[str, Any] | None = None,
    ) -> Msg:
        """The answer to a question. Raises `MayNot` as soon as the server says so."""
        if subject.startswith(_LOOKS):
            return await self._look(Publication(self.reached_at(subject), payload, headers or {}), timeout)
        subject = self.reached_at(subject)
        if self.is_reconnecting and not subject.startswith(_ALL_QUESTIONS):
            # The client would store it as soon as the connection is back: before anybody has looked what is there.
            raise ConnectionReconnectingError
        until = asyncio.timeout(None)
        self._asking[until] = subject.lower()
        try:
            async with until:
                return await super().request(subject, payload, timeout, old_style, headers)
        except TimeoutError:
            if until not in self._asking:
                raise MayNot(subject) from None
            raise
        finally:
            self._asking.pop(until, None)

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: Mapping[str, Any] | None = None
    ) -> None:
        """Publish; a question about streams goes to those of the domain."""
        await super().publish(self.reached_at(subject), payload, reply, dict(headers) if headers is not None else None)

    def reached_at(self, subject: str) -> str:
        """Where a question about streams is asked so that the domain hears it."""
        if self.domain and subject.startswith(_QUESTIONS):
            return f"{domain_questions(self.domain)}{subject.removeprefix(_QUESTIONS)}"
        return subject

    async def answers_to(self, questions: Sequence[Publication], within_s: float) -> list[Msg | Error]:
        """What came of each question: its answer, or why there is none. One wait for all, where `request` has one for each.

        Raises `ConnectionReconnectingError` where nothing can be asked at the moment.
        """
        if self.is_reconnecting:
            raise ConnectionReconnectingError  # As in `request`.
        async with self._asking_together(questions) as (name, asked):
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    for number, one in enumerate(questions):
                        await self.publish(one.subject, one.payload, f"{name}.{number}", one.headers)
                    if questions:
                        await asked.whole.wait()
        return [asked.answers.get(number) or NatsTimeout() for number in range(len(questions))]

    async def _look(self, question: Publication, within_s: float) -> Msg:
        """The first answer to a question that is asked again and again until there is one."""
        async with self._asking_together([question]) as (name, asked):
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    while not asked.answers:
                        await self.publish(question.subject, question.payload, f"{name}.0", question.headers)
                        await self._heard_within(asked, _AGAIN_S)
        found = asked.answers.get(0) or NatsTimeout()
        if isinstance(found, Error):
            raise found
        return found

    async def _heard_within(self, asked: _Round, seconds: float) -> None:
        """Return when all is answered, or after so long; not while there is no connection, for what is said then is sent later."""
        while not asked.answers:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await asked.whole.wait()
            if not self.is_reconnecting:
                return

    @asynccontextmanager
    async def _asking_together(self, questions: Sequence[Publication]) -> AsyncGenerator[tuple[str, _Round]]:
        """A round of questions, and the name under which its answers come while the block lasts."""
        if not self._inbox:
            self._inbox = self.new_inbox()
            await self.subscribe(
                f"{self._inbox}.*.*", cb=self._take_answer, pending_msgs_limit=0, pending_bytes_limit=0
            )
        name, asked = f"{self._inbox}.{next(self._names)}", _Round(questions)
        self._rounds[name] = asked
        try:
            yield name, asked
        finally:
            del self._rounds[name]

    async def _take_answer(self, message: Msg) -> None:
        name, _, number = message.subject.rpartition(".")
        asked = self._rounds.get(name)
        if asked is not None and number.isdecimal() and int(number) < len(asked.questions):
            nobody = (message.headers or {}).get("Status") == _NOBODY_THERE
            asked.take(int(number), NoRespondersError() if nobody else message)

    def may_not(self, subject: str) -> bool:
        """Whether the server has refused what was published to a subject."""
        return self.reached_at(subject).lower() in self._refused

    def answered(self, subject: str) -> None:
        """The server has taken what was published to a subject: whatever it refused before, it allows it now."""
        if self._refused:
            self._refused.discard(self.reached_at(subject).lower())

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:  # noqa: FBT001, FBT002 - as the client has it
        """What the server says first. The client would go on in plain text with one that takes no TLS, password included."""
        if initial_connection and self._encrypted and not info.get("tls_required"):
            raise NotEncrypted
        await super()._process_info(info, initial_connection)

    async def _process_err(self, err_msg: str) -> None:
        """What the server says right before it closes the connection, unless it is a violation."""
        if "permissions violation" in err_msg:
            await super()._process_err(err_msg)
            return
        problem = Error(f"nats: {err_msg}")
        await self._hear(problem)
        await self._process_op_err(problem)

    async def _connect_to_server(self, s: Any) -> None:
        """The client leaves open what a server has not taken, one socket more with each attempt.

        It would also try on for ever where its own wait has swallowed that nobody waits for it any more.
        """
        if self._given_up:
            raise asyncio.CancelledError
        if self._transport is not None:
            self._transport.close()
        await super()._connect_to_server(s)

    async def _hear(self, problem: Exception) -> None:
        """Errors that the client reports beside the answers. Lost connections show where a request fails."""
        refused, closing = _VIOLATION.search(str(problem)), _CLOSING.search(str(problem))
        if refused is not None:
            self._refused.add(refused[1])
            for until in [one for one, subject in self._asking.items() if subject == refused[1]]:
                del self._asking[until]
                until.reschedule(asyncio.get_running_loop().time())
            for asked in self._rounds.values():
                asked.refuse(refused[1])
        elif closing is not None:
            self.closed_for = closing[1].lower()
        elif not isinstance(problem, NoServersError | TimeoutError):
            self.broken_by = problem

    async def _is_back(self) -> None:
        self.closed_for, self.broken_by = "", None
        for call in list(self.on_return):
            call()


@contextmanager
def calling_on_return(client: Client, call: Callable[[], None]) -> Generator[None, None, None]:
    """While the block lasts, `call` is called whenever a lost connection is there again."""
    if not isinstance(client, Connection):
        yield
        return
    client.on_return.add(call)
    try:
        yield
    finally:
        client.on_return.discard(call)


def is_refused(client: Client, subject: str) -> bool:
    """Whether the user of a connection may not publish to a subject, as far as the server has reported it."""
    return isinstance(client, Connection) and client.may_not(subject)


def is_answered(client: Client, subject: str) -> None:
    """Note that a subject was answered: a refusal of it that was heard before counts no more."""
    if isinstance(client, Connection):
        client.answered(subject)


def reads(client: Client, stream: str) -> None:
    """Note that a stream can be read."""
    if isinstance(client, Connection):
        client.unreadable.pop(stream, None)


def may_not_read(client: Client, stream: str, refused: str) -> bool:
    """Note that a stream can't be read, for want of the right to publish to a subject; whether that was not known."""
    if not isinstance(client, Connection) or client.unreadable.get(stream) == refused:
        return False
    client.unreadable[stream] = refused
    return True


def domain_of(client: Client) -> str:
    """The JetStream domain that a connection asks; empty for that of the server itself."""
    return client.domain if isinstance(client, Connection) else ""


def closed_for(client: Client) -> str:
    """Why the server does not take the connection at the moment, in its words; empty when it has given no reason."""
    return client.closed_for if isinstance(client, Connection) else ""
