"""Leases on the bus: a stream of its own with one message a lease, which the server forgets when it is not renewed.

Time is the server's alone. Who takes or renews a lease does so on the condition that its message is still the one that he knows.
"""

import base64

from nats.aio.client import Client

from ops.production.log.jetstream.generations import NOT_THERE, asked
from ops.production.log.jetstream.last_messages import LastMessage, last_message, replace_message
from ops.production.log.jetstream.refusals import refusal

STREAM = "LEASES"
KEPT_FOR_S = 3
"""So long the server keeps a lease that is not renewed."""
_MOST_BYTES = 1 << 20
_DEADLINE_S = 2.0


def lease_subject(name: str) -> str:
    """The subject of a lease, such as `kuelog.leases.LOG_0.applier`."""
    return f"kuelog.leases.{name}"


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
        info = await asked(self._client, f"STREAM.INFO.{STREAM}", {"subjects_filter": lease_subject(">")})
        if info.get("error") is not None:
            if info["error"].get("err_code") == NOT_THERE:
                return {}
            raise refusal(STREAM, info["error"])
        found: dict[str, str] = {}
        for subject in sorted(info.get("state", {}).get("subjects") or ()):
            name = str(subject).removeprefix(lease_subject(""))
            holder = base64.b64decode((await self._last(name)).data).decode()
            if holder:
                found[name] = holder
        return found

    async def _last(self, name: str) -> LastMessage:
        return await last_message(self._client, STREAM, lease_subject(name))

    async def _store(self, name: str, data: bytes, expected: int) -> int:
        """The sequence at which it was stored; 0 when another message than expected is the last one."""
        condition = {"Nats-Expected-Last-Subject-Sequence": str(expected)}
        subject = lease_subject(name)
        return await replace_message(self._client, STREAM, subject, data, condition=condition, deadline_s=_DEADLINE_S)
