"""The port to traces: spans around what is stored and applied, in one trace for each workload and one for each append.

The trace of a workload is named by its UID, so that every service of every replica adds to the same one without asking another.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from events.commit import Commit
from projections.workloads.lifecycle import Workload
from services.runtime.log_port import Message


class CommitSpan:
    """The span around one append, and what the message carries of it."""

    def __init__(self, headers: Mapping[str, str], trace: str = "") -> None:
        self.headers = headers
        """What the message carries so that its readers know the span."""
        self.trace = trace
        """The id of its trace where that is exported, else empty."""
        self.sequence = 0
        """Where it was stored: set by who has appended it; 0 when it was not."""


class Tracer(Protocol):
    """Opens spans. Whatever is traced, nothing is decided by it."""

    def commit(self, commit: Commit, workloads: Mapping[str, Workload]) -> AbstractContextManager[CommitSpan]:
        """A span around an append, and, when it was stored, one for each event in the trace of its workload.

        `workloads` are those of the world, by key.
        """
        ...

    def facts(self, stream: str, facts: Sequence[tuple[Message, str]]) -> AbstractContextManager[Sequence[Message]]:
        """A span for each fact that comes with the UID of a workload, in its trace; the messages as they are to be stored."""
        ...

    def application(self, workload: Workload, sequence: int) -> AbstractContextManager[None]:
        """A span around writing what was decided up to `sequence` to the cluster, in the trace of the workload."""
        ...

    def started(self, workload: Workload) -> None:
        """Close the trace of a workload whose job was started for the first time: its first span begins at its creation."""
        ...

    def trace_of(self, uid: str) -> str:
        """The id of the trace of a workload, by the UID of that; empty where it is not exported."""
        ...


class NoTracer:
    """Opens no span, for where nobody collects them."""

    @contextmanager
    def commit(self, commit: Commit, workloads: Mapping[str, Workload]) -> Generator[CommitSpan]:
        """The commit goes out without trace headers."""
        del commit, workloads
        yield CommitSpan({})

    @contextmanager
    def facts(self, stream: str, facts: Sequence[tuple[Message, str]]) -> Generator[Sequence[Message]]:
        """The facts go out as they are, without trace headers."""
        del stream
        yield [message for message, _ in facts]

    @contextmanager
    def application(self, workload: Workload, sequence: int) -> Generator[None]:
        """No span is made: nothing is exported."""
        del workload, sequence
        yield

    def started(self, workload: Workload) -> None:
        """No span is made: nothing is exported."""

    def trace_of(self, uid: str) -> str:
        """Empty: no trace is exported."""
        del uid
        return ""
