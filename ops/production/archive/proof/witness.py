"""The head witness: what each stream was, as signed checkpoints kept outside the bus.

One flipped bit can make a stored stream lose its tail silently, with a valid chain and reused sequences
(docs/rules/log.md#lost-tail). Whoever starts, and every so often while it runs, compares the log with what was
witnessed. Beside each checkpoint stands the leaf of every message under it, by which `kuelog audit verify` names the
place of a change.

Several services may share a folder: the files are the truth and are changed under a lock that is held for a moment
only. What somebody else has witnessed meanwhile is not witnessed again.
"""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from events.hash_chain import bytes_hash
from events.merkle import SIZE, Frontier, leaf_hash
from ops.files.reading import Unreadable, json_of
from ops.files.run_folder import used
from ops.files.whole_file import write_whole
from ops.production.archive.proof.approvers import approvers_in, endorse_anew
from ops.production.archive.proof.checkpoint import Checkpoint, checkpoint_of, signed_by, signed_text
from ops.production.archive.proof.keys import RING, KeyTrust, Signer, WitnessKeyMissing
from services.runtime.log_errors import LogGap, LogRegressed
from services.runtime.log_port import Stream

HEADS, LOCK = "heads.json", "witness.lock"
_POLL_S = 0.01
_START_PATIENCE_S, _PATIENCE_S = 10.0, 0.5


def leaves_name(stream: str) -> str:
    """The file beside the heads that holds the leaf of every message of a stream."""
    return f"{stream}.leaves"


class HeadWitness:
    """Signed checkpoints in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        """Take up what a folder holds. Raises `Unreadable`, `WitnessKeyMissing`, `FolderUnusable`."""
        self._folder = folder
        with used(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with self._alone():
                self._heads = self._stored()
                self._signer = Signer(folder, signed=bool(self._heads))
                self._ring_as_of = self._ring_time()
        self._check_heads()
        self._trees: dict[str, Frontier] = {}

    def seen(self, stream: str) -> Checkpoint | None:
        """What was witnessed of a stream."""
        return self._heads.get(stream)

    def forget(self, stream: str) -> bool:
        """Accept that a stream is not what it was: it is witnessed anew from now on, and what was known is put aside."""
        with used(self._folder), self._alone():
            self._heads = self._stored()
            known = self._heads.pop(stream, None)
            self._trees.pop(stream, None)
            leaves = self._folder / leaves_name(stream)
            if known is not None and leaves.exists():
                leaves.replace(leaves.with_suffix(f".leaves-until-{known.sequence}"))
            self._write()
        return known is not None

    def rotate(self) -> str:
        """A new key from now on; its fingerprint. What the old one had signed goes on to count, and for its approvers the new one vouches."""
        with used(self._folder), self._alone():
            self._heads = self._stored()
            self._take_new_key()
            approvers = approvers_in(self._folder)
            self._signer.rotate({stream: head.sequence for stream, head in self._heads.items()})
            # Should this be cut off, they count no more until they are added again.
            endorse_anew(self._folder, self._signer, approvers)
        return self._signer.id

    def signed(self, stream: str, checkpoint: Checkpoint) -> Checkpoint:
        """Another checkpoint under the key in use, such as one that reaches less far."""
        return self._signer.sign(stream, checkpoint)

    async def sign(self, stream: Stream) -> None:
        """Compare and take note, for who does so once and says why it can't be. Raises `LogRegressed`, `Unreadable`, `FolderUnusable`."""
        with used(self._folder):
            await self.check(stream)
            await self.witness(stream)

    async def check(self, stream: Stream) -> None:
        """Compare a stream with what was witnessed. Raises `LogRegressed`."""
        self._read_again()
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
        """Take note of all messages of a stream that are new, and sign what it is now. Raises `LogRegressed`, `Unreadable`."""
        self._read_again()
        head = self._heads.get(stream.name)
        tree = self._tree(stream.name, head)
        # Until everything is on disk the tree is nobody's: a failure on the way must not leave it ahead of its leaves.
        del self._trees[stream.name]
        begin = tree.size
        try:
            leaves, last = await self._grow(stream, tree, head)
        except LogGap as gap:
            if begin or gap.expected != 1 or gap.found <= 1:
                raise
            if head is not None and head.root:
                raise self._without_leaves(stream.name, gap.found) from gap
            await self._only_the_end(stream)
            return
        with self._alone(_PATIENCE_S):
            self._read_again()
            if self._heads.get(stream.name) != head:
                # Somebody else has witnessed it meanwhile, or had it forgotten: next time we go on from there.
                return
            if leaves:
                self._keep(stream.name, begin, leaves)
                self._heads[stream.name] = self._signer.sign(stream.name, checkpoint_of(tree, last))
                self._write()
            elif head is not None and head.root and head.key != self._signer.id:
                self._heads[stream.name] = self._signer.sign(stream.name, head)
                self._write()
        self._trees[stream.name] = tree

    def _without_leaves(self, stream: str, begins: int) -> Unreadable:
        return Unreadable(
            f"its leaves or what stands in {HEADS} of {stream} are damaged or not there, and can't be made anew of a log that begins at "
            f"{begins}: restore {HEADS} and this file together from a copy of the folder, or from the archive",
            place=self._folder / leaves_name(stream),
        )

    async def _only_the_end(self, stream: Stream) -> None:
        """Of a stream whose beginning was rolled away before this witness came only the end is known: no root, no proof."""
        last = await stream.last()
        known = self._heads.get(stream.name)
        if last.sha256 and (known is None or not known.root) and last.sequence != (known.sequence if known else 0):
            head = Checkpoint(sequence=last.sequence, sha256=last.sha256)
            with self._alone(_PATIENCE_S):
                self._read_again()
                if self._heads.get(stream.name) != known:
                    return
                self._heads[stream.name] = self._signer.sign(stream.name, head)
                self._write()

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
        known = self._trees.get(stream)
        if known is not None and head is not None and known.size == head.sequence and known.root().hex() == head.root:
            return known
        tree = Frontier()
        leaves = self._folder / leaves_name(stream)
        if head is not None and leaves.exists() and leaves.stat().st_size >= head.sequence * SIZE:
            kept = _kept(head)
            if kept is not None and kept.root().hex() == head.root:
                tree = kept
        self._trees[stream] = tree
        return tree

    def _keep(self, stream: str, begin: int, leaves: list[bytes]) -> None:
        """Each leaf stands at the place of its sequence: writing it twice, or beside another writer, does no harm."""
        path = self._folder / leaves_name(stream)
        path.touch()
        with path.open("r+b") as out:
            out.seek(begin * SIZE)
            out.write(b"".join(leaves))
            out.flush()
            os.fsync(out.fileno())

    def _read_again(self) -> None:
        """What others who share the folder have written; of it, too, only what is signed counts."""
        heads = self._stored()
        self._take_new_key()
        if heads != self._heads:
            self._heads = heads
            self._check_heads()

    def _stored(self) -> dict[str, Checkpoint]:
        path = self._folder / HEADS
        return json_of(path.read_bytes(), dict[str, Checkpoint], path) if path.exists() else {}

    def _write(self) -> None:
        write_whole(self._folder / HEADS, msgspec.json.encode(self._heads, order="deterministic"))

    @contextmanager
    def _alone(self, patience: float = _START_PATIENCE_S) -> Generator[None, None, None]:
        """Held for a moment. A process that is frozen in that moment must not stop all others: they say so and try later."""
        descriptor = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            end = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise
                time.sleep(_POLL_S)
            yield
        finally:
            os.close(descriptor)

    def _take_new_key(self) -> None:
        """Somebody may have given out a new key while this runs."""
        if self._ring_time() != self._ring_as_of:
            self._signer = Signer(self._folder, signed=True)
            self._ring_as_of = self._ring_time()

    def _ring_time(self) -> int:
        return (self._folder / RING).stat().st_mtime_ns

    def _check_heads(self) -> None:
        # The key in use is in our own hands: here it counts even if no other key endorses it.
        trust = KeyTrust(self._signer.ring, {self._signer.ring[0].id, self._signer.id})
        for stream, head in self._heads.items():
            of_old = not head.root and signed_by(self._signer.public, signed_text(stream, head), head.signature)
            if not of_old and trust.why_not(stream, head):
                raise WitnessKeyMissing(self._folder, head.key)


def _kept(head: Checkpoint) -> Frontier | None:
    try:
        peaks = [bytes.fromhex(peak) for peak in head.peaks]
    except ValueError:
        return None
    return Frontier(size=head.sequence, peaks=peaks) if len(peaks) == head.sequence.bit_count() else None


def _regressed(stream: Stream, head: Checkpoint, problem: str, found: int) -> LogRegressed:
    return LogRegressed(stream=stream.name, witnessed=head.sequence, found=found, problem=problem)


__all__ = ["HEADS", "HeadWitness", "WitnessKeyMissing", "leaves_name"]
