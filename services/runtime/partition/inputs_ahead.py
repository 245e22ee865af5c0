"""The inputs that are folded ahead of the next commit: in which order, and where the world stood before each.

When another author's commit arrives first, those stay that it names in the same order; only the others are taken back and
folded again behind it (docs/architecture.md#partitions-and-their-order).
"""

from collections.abc import Sequence
from typing import NamedTuple

from events.commit import InputRun
from services.runtime.log_port import Entry
from services.runtime.partition.waiting_inputs import WaitingInputs


class InputAhead(NamedTuple):
    """An input that is folded, with the place to go back to if it is not to stay."""

    entry: Entry
    mark: int
    """Where the trail of the world stood before it."""


class InputsAhead:
    """What no commit has fixed yet."""

    def __init__(self) -> None:
        self._inputs: list[InputAhead] = []
        self._runs: list[InputRun] = []
        self._noted: dict[str, int] = {}
        """Per input stream the last sequence of those runs."""

    def __len__(self) -> int:
        return len(self._inputs)

    @property
    def runs(self) -> tuple[InputRun, ...]:
        """What the next commit names."""
        return tuple(self._runs)

    def position(self, stream: str) -> int:
        """The last sequence of a stream that is folded or gone past ahead; 0 when none is."""
        return self._noted.get(stream, 0)

    def add(self, entry: Entry, mark: int) -> None:
        """This input was folded on top of the others."""
        self._inputs.append(InputAhead(entry, mark))

    def note(self, stream: str, sequence: int) -> None:
        """A stream is folded or gone past up to a sequence; further than before."""
        if self._runs and self._runs[-1].stream == stream:
            self._runs[-1] = InputRun(stream=stream, upto=sequence)
        else:
            self._runs.append(InputRun(stream=stream, upto=sequence))
        self._noted[stream] = sequence

    def alike(self, inputs: Sequence[InputRun], waiting: WaitingInputs) -> int:
        """How many of the inputs, from the first one on, are just those that these runs begin with."""
        count = 0
        for run in inputs:
            while count < len(self._inputs) and _is_in(self._inputs[count].entry, run):
                count += 1
            next_one = next(iter(waiting.of(run.stream)), None)
            if next_one is not None and _is_in(next_one, run):
                break
            if any(_is_in(one.entry, run) for one in self._inputs[count:]):
                break
        return count

    def cut(self, kept: int) -> list[InputAhead]:
        """Let go of all but the first, and of the runs, which are noted anew; those that were let go of."""
        back = self._inputs[kept:]
        del self._inputs[kept:]
        self._runs.clear()
        self._noted.clear()
        return back


def _is_in(entry: Entry, run: InputRun) -> bool:
    return entry.stream == run.stream and entry.sequence <= run.upto
