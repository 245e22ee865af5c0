"""The inputs that were handed over to a fold and wait to be folded, in order, and how far each stream was handed over.

Of facts only those that are for the partition wait (docs/rules/log.md#routed). The bus may have said of a stretch that nothing
in it is for the partition; what is found there later was not there when it was looked at.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from events.subjects import FACTS, is_for
from services.runtime.log_errors import TailLost
from services.runtime.log_port import Entry


class WaitingInputs:
    """By input stream, the messages that wait; the first one first."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Entry]] = {}
        self._received: dict[str, int] = {}
        self._passed_over: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        """Stretches of FACTS of which the bus has said that nothing in them is for the partition: from behind one sequence to another."""

    def of(self, stream: str) -> deque[Entry]:
        """What waits of a stream: who folds it takes it out."""
        return self._waiting.setdefault(stream, deque())

    def all(self) -> Iterator[tuple[str, deque[Entry]]]:
        """What waits of each stream, in the order in which streams are folded where nothing else says so."""
        for stream in sorted(self._waiting):
            yield stream, self._waiting[stream]

    def received(self, stream: str) -> int:
        """The last sequence of a stream that was handed over, or passed over, by what was handed over here."""
        return self._received.get(stream, 0)

    def offer(self, stream: str, entries: Iterable[Entry], *, reader: str, folded: int) -> None:
        """Hand over stored messages of a stream, in order; what was handed over before, or is folded, is dropped.

        Raises `TailLost` when something stands where the bus has said that there is nothing for the reader.
        """
        waiting = self.of(stream)
        last = max(self.received(stream), folded)
        for entry in entries:
            if entry.sequence > last:
                last = entry.sequence
                if stream != FACTS or is_for(entry.subject, reader):
                    waiting.append(entry)
            elif stream == FACTS and is_for(entry.subject, reader):
                self._check_passed_over(entry)
        self._received[stream] = last

    def pass_over(self, stream: str, upto: int, *, folded: int) -> None:
        """Nothing that is for the reader stands behind what was handed over, up to a sequence: the bus has said so."""
        last = max(self.received(stream), folded)
        if upto > last:
            self._passed_over.append((last, upto))
            self.of(stream)
            self._received[stream] = upto

    def _check_passed_over(self, entry: Entry) -> None:
        for after, upto in self._passed_over:
            if after < entry.sequence <= upto:
                problem = (
                    f"holds a message at sequence {entry.sequence} that was not there when it was read up to {upto}"
                )
                raise TailLost(stream=entry.stream, read=upto, found=entry.sequence - 1, problem=problem)

    def put_back(self, entry: Entry) -> None:
        """Have the last one that was taken out of its stream wait again."""
        self.of(entry.stream).appendleft(entry)

    def begin_at(self, stream: str, received: int) -> None:
        """Begin with a stream that becomes an input: nothing of it waits, and up to a sequence nothing will."""
        self._waiting[stream], self._received[stream] = deque(), received


_REMEMBERED = 100
