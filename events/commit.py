"""The two kinds of message on the log: a sighting carries one fact, a commit carries one author's decisions.

The hash chain and the order of inputs give every fact its place (docs/rules/log.md#inputs): a commit names the sequence
that its author had folded (`base`), and the runs of input that it had folded since the commit before (`inputs`), which
gives the facts their place: whoever folds the log again folds those runs first, in that order, and then the commit's
events.
"""

import hashlib

import msgspec

from events.catalogue import Decision, Fact
from events.event import Millis
from events.object_version import ObjectVersion


class Sighting(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One observed fact on the stream of facts."""

    id: str
    at: Millis
    author: str
    cause: str = ""
    about: ObjectVersion | None = None
    """The object that was seen; none where a fact is about no object, and in logs of before there were versions."""
    fact: Fact


class InputRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The messages of another stream that were folded next, up to and including `upto`."""

    stream: str
    upto: int


class Commit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One author's decisions, all or nothing, under the state that `base` and `inputs` name."""

    id: str
    prev_hash: str
    partition: str
    base: int
    inputs: tuple[InputRun, ...]
    author: str
    epoch: int
    rules: str
    at: Millis
    cause: str = ""
    events: tuple[Decision, ...]
    state_hash: str = ""

    def follows(self, base: int, prev_hash: str) -> bool:
        """Whether it was made behind this sequence and names the bytes that stand there: the hash chain of a partition."""
        return self.base == base and self.prev_hash == prev_hash


GENESIS = "0" * 64
"""The `prev_hash` of the first commit of a partition."""


def bytes_hash(data: bytes) -> str:
    """The hash by which the next commit names this one: SHA-256 over the bytes as stored."""
    return hashlib.sha256(data).hexdigest()
