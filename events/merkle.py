"""Merkle trees over the messages of a stream, as RFC 6962 and 9162 build them: one root says what every message was.

The leaf of a message covers its stream, subject, message id and the bytes as stored. Its sequence is its place in the
tree: message n is leaf n-1, so a proof that a message is in the tree also proves its sequence.
"""

import hashlib
from collections.abc import Iterable, Sequence

EMPTY = hashlib.sha256(b"").digest()
"""The root of a tree without leaves."""

SIZE = 32
"""The length of a leaf, and of every other node."""


def leaf_hash(stream: str, subject: str, message_id: str, data: bytes) -> bytes:
    """The leaf of a message. Each part is written with its length before it, so no two messages look alike."""
    s, t, m = stream.encode(), subject.encode(), message_id.encode()
    head = b"%d:%s,%d:%s,%d:%s,%d:" % (len(s), s, len(t), t, len(m), m, len(data))
    return hashlib.sha256(b"\0" + head + data + b",").digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The node above two others."""
    return hashlib.sha256(b"\1" + left + right).digest()


class Frontier:
    """A tree that grows at its end, of which only the roots of its complete subtrees are kept."""

    def __init__(self, leaves: Iterable[bytes] = (), *, size: int = 0, peaks: Iterable[bytes] = ()) -> None:
        self.size = size
        self._peaks = list(peaks)
        for leaf in leaves:
            self.add(leaf)

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """The roots of the complete subtrees, the largest first; with them and the size the tree grows on."""
        return tuple(self._peaks)

    def add(self, leaf: bytes) -> None:
        """One more message at the end."""
        rest, node = self.size, leaf
        while rest & 1:
            node = hashlib.sha256(b"\1" + self._peaks.pop() + node).digest()
            rest >>= 1
        self._peaks.append(node)
        self.size += 1

    def root(self) -> bytes:
        """The root over all that was added."""
        if not self._peaks:
            return EMPTY
        node = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            node = node_hash(peak, node)
        return node


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root over some leaves."""
    return Frontier(leaves).root()


def inclusion_path(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The nodes beside the way from a leaf up to the root, lowest first."""
    if len(leaves) <= 1:
        return []
    split = _largest_power_below(len(leaves))
    if index < split:
        return [*inclusion_path(leaves[:split], index), root_of(leaves[split:])]
    return [*inclusion_path(leaves[split:], index - split), root_of(leaves[:split])]


def consistency_path(leaves: Sequence[bytes], old: int) -> list[bytes]:
    """The nodes that show the first `old` leaves, at least one, to be the beginning of all (RFC 9162 §2.1.4.1)."""
    return _consistency(leaves, old, whole=True)


def _consistency(leaves: Sequence[bytes], old: int, *, whole: bool) -> list[bytes]:
    """`whole`: the first `old` leaves are the old tree itself, whose root the verifier has already."""
    if old == len(leaves):
        return [] if whole else [root_of(leaves)]
    split = _largest_power_below(len(leaves))
    if old <= split:
        return [*_consistency(leaves[:split], old, whole=whole), root_of(leaves[split:])]
    return [*_consistency(leaves[split:], old - split, whole=False), root_of(leaves[:split])]


def _largest_power_below(count: int) -> int:
    return 1 << ((count - 1).bit_length() - 1)
