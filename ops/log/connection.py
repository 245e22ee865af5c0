"""A connection to NATS that remembers what it may not do: the server says so beside the answers, and answers nothing."""

import re

from nats.aio.client import Client

_VIOLATION = re.compile('permissions violation for publish to "(.*)"')


class Connection(Client):
    """A connection of ours. The client writes what the server says of violations in lower case."""

    def __init__(self) -> None:
        super().__init__()
        self._refused: set[str] = set()

    async def hear(self, problem: Exception) -> None:
        """What the client tells of errors beside the answers. Lost connections show where a request fails."""
        found = _VIOLATION.search(str(problem))
        if found is not None:
            self._refused.add(found[1])

    def may_not(self, subject: str) -> bool:
        """Whether the server has refused what was published to a subject."""
        return subject.lower() in self._refused

    def answered(self, subject: str) -> None:
        """The server has taken what was published to a subject: whatever it refused before, it allows it now."""
        if self._refused:
            self._refused.discard(subject.lower())


def is_refused(client: Client, subject: str) -> bool:
    """Whether the user of a connection may not publish to a subject, as far as the server has said so."""
    return isinstance(client, Connection) and client.may_not(subject)


def is_answered(client: Client, subject: str) -> None:
    """Take note that it may."""
    if isinstance(client, Connection):
        client.answered(subject)
