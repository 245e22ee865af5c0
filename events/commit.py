"""The two kinds of message on the log: a sighting carries one fact, a commit carries one author's decisions.

The order of inputs gives every fact its place (docs/rules/log.md#inputs): a commit names the sequence that its author had
folded (`base`), and the runs of input that it had folded since the commit before (`inputs`). Whoever folds the log again folds
those runs first, in that order, and then the commit's events. `events.hash_chain` says which commit may stand behind which.
"""

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
    most_admissions: int = 0
    """So many workloads its author was to let in at most (docs/rules/log.md#on-their-way); 0 where nothing bounded that."""
