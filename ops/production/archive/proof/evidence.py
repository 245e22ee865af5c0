"""What is kept beside the log to prove it: keys, signed checkpoints, and the leaf of every message under them."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from events.merkle import root_of
from ops.files.reading import Unreadable, json_of
from ops.production.archive.errors import FolderUnreadable
from ops.production.archive.finding import AuditFinding
from ops.production.archive.folder import Folder
from ops.production.archive.proof.checkpoint import Checkpoint
from ops.production.archive.proof.keys import RING, KeyTrust, RingKey
from ops.production.archive.proof.leaves import Leaves
from ops.production.archive.proof.witness import HEADS, leaves_name


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """Checkpoints with the keys that they need: one file to be handed to others, `kuelog audit checkpoint --to`."""

    keys: tuple[RingKey, ...]
    heads: dict[str, Checkpoint]
    timestamps: tuple[str, ...] = ()
    """Time stamps of RFC 3161 over all of it but these, in base64."""


def stamped_text(statement: Statement) -> bytes:
    """What time stamps of a statement are about."""
    return msgspec.json.encode(msgspec.structs.replace(statement, timestamps=()), order="deterministic")


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Keys, checkpoints and leaves, as they were found."""

    keys: tuple[RingKey, ...] = ()
    heads: dict[str, Checkpoint] = {}
    leaves: dict[str, bytes] = {}


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence, and how far it counts."""

    heads: dict[str, Checkpoint]
    """The checkpoints that count."""
    record: dict[str, Leaves]
    """By stream the leaves that stand under its checkpoint, whether it counts or not."""
    sound: frozenset[str]
    """The streams whose record leads to the root that was signed."""
    findings: tuple[AuditFinding, ...]


def load_evidence(url: str) -> Evidence:
    """The evidence in a folder. Raises `FolderUnreadable`."""
    folder = Folder(url)
    stored = folder.need(HEADS, "it is no witness folder; name the right one with --witness")
    heads = folder.decoded(HEADS, stored, dict[str, Checkpoint])
    keys = folder.decoded(RING, folder.read(RING) or b"[]", tuple[RingKey, ...])
    leaves = {stream: folder.read(leaves_name(stream)) or b"" for stream in heads}
    return Evidence(keys=keys, heads=heads, leaves=leaves)


def save_evidence(evidence: Evidence, folder: Folder) -> None:
    """Write evidence as a witness folder holds it, the heads last: they speak of the rest."""
    for stream, leaves in sorted(evidence.leaves.items()):
        folder.write(leaves_name(stream), leaves)
    folder.write(RING, msgspec.json.encode(evidence.keys, order="deterministic"))
    folder.write(HEADS, msgspec.json.encode(evidence.heads, order="deterministic"))


def load_statement(url: str) -> Statement:
    """A file of checkpoints that was handed out. Raises `FolderUnreadable`."""
    parent, _, name = url.rpartition("/")
    data = Folder(parent or ".").need(name, "name a file that `kuelog audit checkpoint --to` has written")
    try:
        found = json_of(data, Statement)
    except Unreadable as problem:
        raise FolderUnreadable(url, f"is no file of checkpoints: {problem}") from problem
    if not found.heads:
        raise FolderUnreadable(url, "holds no checkpoint, so that nothing can be held against it")
    return found


def judge(evidence: Evidence, pinned: Collection[str] = ()) -> Judged:
    """Which checkpoints count, and whether the leaves beside them are those that were signed."""
    trust = KeyTrust(evidence.keys, pinned)
    findings: list[AuditFinding] = []
    heads: dict[str, Checkpoint] = {}
    record: dict[str, Leaves] = {}
    sound: set[str] = set()
    for key, problem in sorted(trust.problems.items()):
        if key in pinned and key not in {one.id for one in evidence.keys}:
            findings.append(AuditFinding(stream="", sequence=0, what="key", detail=f"key {key} {problem}"))
    for stream, head in sorted(evidence.heads.items()):
        why = "it carries no root: let the services run once, or `kuelog audit checkpoint`" if not head.root else ""
        if not why and (problem := trust.why_not(stream, head)):
            why = f"key {head.key} {problem}"
        if why:
            detail = f"the checkpoint at {head.sequence} does not count: {why}"
            findings.append(AuditFinding(stream=stream, sequence=head.sequence, what="checkpoint", detail=detail))
        else:
            heads[stream] = head
        record[stream] = Leaves(evidence.leaves.get(stream, b""), head.sequence)
        if root_of(record[stream]).hex() == head.root:
            sound.add(stream)
    return Judged(heads=heads, record=record, sound=frozenset(sound), findings=tuple(findings))


def prefix_agrees(leaves: Sequence[bytes], head: Checkpoint) -> bool:
    """Whether the first messages of a stream lead to the root of a checkpoint."""
    return len(leaves) >= head.sequence and root_of(leaves[: head.sequence]).hex() == head.root


def statement_findings(
    statement: Statement,
    counts: Mapping[str, int],
    roots: Mapping[str, Mapping[int, str]],
    pinned: Iterable[str] = (),
) -> list[AuditFinding]:
    """Hold the log against checkpoints that were handed out earlier: how many messages it has, and the roots over the first of them."""
    trust = KeyTrust(statement.keys, pinned)
    findings: list[AuditFinding] = []
    for stream, head in sorted(statement.heads.items()):
        detail, there = "", counts.get(stream, 0)
        if problem := trust.why_not(stream, head):
            detail = f"the checkpoint that was handed out for {head.sequence} does not count: key {head.key} {problem}"
        elif there < head.sequence:
            detail = f"{head.sequence} messages were signed and handed out, {there} are there"
        elif roots.get(stream, {}).get(head.sequence) != head.root:
            detail = f"the first {head.sequence} messages are not those whose root was signed and handed out"
        if detail:
            findings.append(AuditFinding(stream=stream, sequence=head.sequence, what="checkpoint", detail=detail))
    return findings
