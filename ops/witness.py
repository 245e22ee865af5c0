"""The head witness: what each stream was, as signed checkpoints kept outside the bus.

One flipped bit can make a stored stream lose its tail silently, with a valid chain and reused sequences
(log-engineering §0.6). Whoever starts, and every so often while it runs, compares the log with what was witnessed. Beside
each checkpoint stands the leaf of every message under it, by which `kuelog audit verify` names the place of a change.
"""

from pathlib import Path

import msgspec

from events.commit import bytes_hash
from events.merkle import SIZE, Frontier, leaf_hash
from ops.audit.checkpoint import Checkpoint, checkpoint_of, signed_by, signed_text
from ops.audit.keys import RING, Signer, Trust, WitnessKeyMissing
from services.log_errors import LogGap, LogRegressed
from services.log_port import Stream

HEADS = "heads.json"


def leaves_name(stream: str) -> str:
    """The file beside the heads that holds the leaf of every message of a stream."""
    return f"{stream}.leaves"


class HeadWitness:
    """Signed checkpoints in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / HEADS
        self._heads: dict[str, Checkpoint] = (
            msgspec.json.decode(path.read_bytes(), type=dict[str, Checkpoint]) if path.exists() else {}
        )
        self._signer = Signer(folder, signed=bool(self._heads))
        self._ring_as_of = self._ring_time()
        self._check_heads()
        self._trees: dict[str, Frontier] = {}

    def seen(self, stream: str) -> Checkpoint | None:
        """What was witnessed of a stream."""
        return self._heads.get(stream)

    def forget(self, stream: str) -> bool:
        """Accept that a stream is not what it was: it is witnessed anew from now on, and what was known is put aside."""
        known = self._heads.pop(stream, None)
        self._trees.pop(stream, None)
        leaves = self._folder / leaves_name(stream)
        if known is not None and leaves.exists():
            leaves.replace(leaves.with_suffix(f".leaves-until-{known.sequence}"))
        self._write()
        return known is not None

    def rotate(self) -> str:
        """A new key from now on; its fingerprint. What the old one had signed goes on to count."""
        self._signer.rotate({stream: head.sequence for stream, head in self._heads.items()})
        return self._signer.id

    async def check(self, stream: Stream) -> None:
        """Compare a stream with what was witnessed. Raises `LogRegressed`."""
        head = self._heads.get(stream.name)
        if head is None:
            return
        last = await stream.last()
        if last.sequence < head.sequence:
            raise _regressed(stream, head, "has lost its tail", last.sequence)
        try:
            entry = await stream.get(head.sequence)
        except LogGap as gap:
            raise _regressed(stream, head, "has lost a message", gap.found) from gap
        if bytes_hash(entry.data) != head.sha256:
            problem = f"holds another message at sequence {head.sequence} than it once did"
            raise _regressed(stream, head, problem, last.sequence)

    async def witness(self, stream: Stream) -> None:
        """Take note of all messages of a stream that are new, and sign what it is now. Raises `LogRegressed`."""
        self._take_new_key()
        head = self._heads.get(stream.name)
        tree = self._tree(stream.name, head)
        # Until everything is on disk the tree is nobody's: a failure on the way must not leave it ahead of its leaves.
        del self._trees[stream.name]
        begin = tree.size
        leaves, last = await self._grow(stream, tree, head)
        if leaves:
            self._keep(stream.name, begin, leaves)
            self._heads[stream.name] = self._signer.sign(stream.name, checkpoint_of(tree, last))
            self._write()
        elif head is not None and head.root and head.key != self._signer.id:
            self._heads[stream.name] = self._signer.sign(stream.name, head)
            self._write()
        self._trees[stream.name] = tree

    async def _grow(self, stream: Stream, tree: Frontier, head: Checkpoint | None) -> tuple[list[bytes], bytes]:
        """The leaves of the messages that are new to a tree, which it has taken in, and the bytes of the last one."""
        leaves: list[bytes] = []
        anew, last = tree.size == 0, b""
        async for batch in stream.read(tree.size):
            for entry in batch:
                leaf = leaf_hash(entry.stream, entry.subject, entry.message_id, entry.data)
                leaves.append(leaf)
                tree.add(leaf)
                last = entry.data
                if (
                    anew
                    and head is not None
                    and head.root
                    and tree.size == head.sequence
                    and tree.root().hex() != head.root
                ):
                    raise _regressed(stream, head, "holds other messages than it once did", tree.size)
        return leaves, last

    def _tree(self, stream: str, head: Checkpoint | None) -> Frontier:
        """The tree as it was signed; an empty one when what is kept of it can't be trusted, so that it is built anew."""
        if stream in self._trees:
            return self._trees[stream]
        tree = Frontier()
        leaves = self._folder / leaves_name(stream)
        if head is not None and leaves.exists() and leaves.stat().st_size >= head.sequence * SIZE:
            kept = Frontier(size=head.sequence, peaks=map(bytes.fromhex, head.peaks))
            if len(head.peaks) == head.sequence.bit_count() and kept.root().hex() == head.root:
                tree = kept
        self._trees[stream] = tree
        return tree

    def _keep(self, stream: str, begin: int, leaves: list[bytes]) -> None:
        """Leaves stand at the place of their sequence: who writes them twice, or beside another writer, harms nothing."""
        path = self._folder / leaves_name(stream)
        path.touch()
        with path.open("r+b") as out:
            out.seek(begin * SIZE)
            out.write(b"".join(leaves))

    def _write(self) -> None:
        fresh = self._folder / "heads.new"
        fresh.write_bytes(msgspec.json.encode(self._heads, order="deterministic"))
        fresh.replace(self._folder / HEADS)

    def _take_new_key(self) -> None:
        """Somebody may have given out a new key while this runs."""
        if self._ring_time() != self._ring_as_of:
            self._signer = Signer(self._folder, signed=True)
            self._ring_as_of = self._ring_time()

    def _ring_time(self) -> int:
        return (self._folder / RING).stat().st_mtime_ns

    def _check_heads(self) -> None:
        # The key in use is in our own hands: here it counts even if no other key endorses it.
        trust = Trust(self._signer.ring, {self._signer.ring[0].id, self._signer.id})
        for stream, head in self._heads.items():
            of_old = not head.root and signed_by(self._signer.public, signed_text(stream, head), head.signature)
            if not of_old and trust.why_not(stream, head):
                raise WitnessKeyMissing(self._folder, head.key)


def _regressed(stream: Stream, head: Checkpoint, problem: str, found: int) -> LogRegressed:
    return LogRegressed(stream=stream.name, witnessed=head.sequence, found=found, problem=problem)


__all__ = ["HEADS", "HeadWitness", "WitnessKeyMissing", "leaves_name"]
