"""Leases on the bus: a stream of its own with one message a lease, which the server forgets when it is not renewed.

Time is the server's alone. Who takes or renews a lease does so on the condition that its message is still the one that he knows.
"""

import base64
from urllib.parse import quote

import msgspec
from nats.aio.client import Client

from ops.production.log.jetstream.generations import NOT_THERE, asked, decoded
from ops.production.log.jetstream.last_messages import LastMessage, last_message, replace_message
from ops.production.log.jetstream.refusals import refusal
from services.runtime.lease_port import Replica

STREAM = "LEASES"
KEPT_FOR_S = 3
"""So long the server keeps a lease that is not renewed."""
_MOST_BYTES = 1 << 20
_DEADLINE_S = 2.0
_REPLICAS = "replicas."
"""What the names of those who say that they are there begin with, among those of leases."""


def lease_subject(name: str) -> str:
    """The subject of a lease, such as `kuelog.leases.LOG_0.applier`."""
    return f"kuelog.leases.{name}"


def replica_subject(name: str) -> str:
    """The subject on which a replica says that it is there: its name as one token."""
    return lease_subject(_REPLICAS + quote(name, safe="").replace(".", "%2E"))


EVERY_REPLICA = lease_subject(f"{_REPLICAS}*")
"""The subjects on which replicas say that they are there."""


class BusLeases:
    """The leases of everybody who shares a log."""

    def __init__(self, client: Client, *, replicas: int) -> None:
        self._client, self._replicas = client, replicas

    async def prepare(self) -> None:
        """Create the stream if it is not there. Raises `LogUnavailable`."""
        info = await asked(self._client, f"STREAM.INFO.{STREAM}", {})
        if info.get("error") is None:
            return
        config = {
            "name": STREAM,
            "subjects": [lease_subject(">")],
            "storage": "memory",
            "retention": "limits",
            "discard": "old",
            "max_msgs_per_subject": 1,
            "max_bytes": _MOST_BYTES,
            "max_age": KEPT_FOR_S * 1_000_000_000,
            "duplicate_window": 1_000_000_000,
            "num_replicas": self._replicas,
        }
        made = await asked(self._client, f"STREAM.CREATE.{STREAM}", config)
        if made.get("error") is not None:
            raise refusal(STREAM, made["error"])

    async def holder(self, name: str) -> str:
        """The replica that holds a lease; empty when nobody does."""
        return await self._told(lease_subject(name))

    async def take(self, name: str, replica: str) -> int:
        """Take a lease that nobody holds; the sequence of its message, 0 when another holds it."""
        there = await self._last(name)
        if there.seq and base64.b64decode(there.data):
            return 0
        return await self._store(name, replica.encode(), there.seq)

    async def renew(self, name: str, replica: str, held: int) -> int:
        """Hold it for another while; 0 when it is lost."""
        return await self._store(name, replica.encode(), held)

    async def give_back(self, name: str, held: int) -> None:
        """A message without a holder: whoever looks next takes it."""
        await self._store(name, b"", held)

    async def holders(self) -> dict[str, str]:
        """Who holds which lease, by name. Raises `LogUnavailable`."""
        found: dict[str, str] = {}
        for subject in await self._subjects(">"):
            name = subject.removeprefix(lease_subject(""))
            holder = "" if name.startswith(_REPLICAS) else await self._told(subject)
            if holder:
                found[name] = holder
        return found

    async def announce(self, replica: Replica) -> None:
        """Say that a replica is there; the server forgets it as it forgets a lease."""
        await self._say(replica.name, msgspec.json.encode(replica))

    async def leave(self, replica: str) -> None:
        """A message without anything: it is there no more."""
        await self._say(replica, b"")

    async def replicas(self) -> list[Replica]:
        """The replicas that are there, by name."""
        told = [await self._told(subject) for subject in await self._subjects(f"{_REPLICAS}>")]
        return sorted((decoded(STREAM, one.encode(), Replica) for one in told if one), key=lambda one: one.name)

    async def _subjects(self, of: str) -> list[str]:
        """The subjects that have a message."""
        info = await asked(self._client, f"STREAM.INFO.{STREAM}", {"subjects_filter": lease_subject(of)})
        if info.get("error") is not None:
            if info["error"].get("err_code") == NOT_THERE:
                return []
            raise refusal(STREAM, info["error"])
        return sorted(map(str, info.get("state", {}).get("subjects") or ()))

    async def _told(self, subject: str) -> str:
        return base64.b64decode((await last_message(self._client, STREAM, subject)).data).decode()

    async def _say(self, replica: str, data: bytes) -> None:
        await replace_message(
            self._client, STREAM, replica_subject(replica), data, condition={}, deadline_s=_DEADLINE_S
        )

    async def _last(self, name: str) -> LastMessage:
        return await last_message(self._client, STREAM, lease_subject(name))

    async def _store(self, name: str, data: bytes, expected: int) -> int:
        """The sequence at which it was stored; 0 when another message than expected is the last one."""
        condition = {"Nats-Expected-Last-Subject-Sequence": str(expected)}
        subject = lease_subject(name)
        return await replace_message(self._client, STREAM, subject, data, condition=condition, deadline_s=_DEADLINE_S)
