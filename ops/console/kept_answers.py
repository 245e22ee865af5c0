"""Answers about moments that are over, kept while there is room: they never change."""

from collections import OrderedDict
from collections.abc import Callable, Hashable

import msgspec

from events.json_object import JsonObject

MOST_BYTES = 64 << 20


class AnswersByPlace:
    """Answers in JSON by what was asked of which place of the log; the one that was asked for longest ago goes first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._bytes = most_bytes, 0
        self._kept = OrderedDict[Hashable, msgspec.Raw]()

    def of(self, key: Hashable, ask: Callable[[], JsonObject]) -> msgspec.Raw:
        """The answer of that key, asked now where it is not kept."""
        found = self._kept.pop(key, None)
        if found is None:
            encoded = msgspec.json.encode(ask())
            found = msgspec.Raw(encoded)
            self._bytes += _size(key, found)
        self._kept[key] = found
        while self._bytes > self._most and len(self._kept) > 1:
            self._bytes -= _size(*self._kept.popitem(last=False))
        return found


def _size(key: Hashable, answer: msgspec.Raw) -> int:
    """With what was asked: an address may be longer than its answer."""
    return len(repr(key)) + len(bytes(answer))
