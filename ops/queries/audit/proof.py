"""Proofs for people who have nothing of the log: that a message stands on it, and that it only grew between checkpoints."""

import base64
from collections.abc import Iterable
from itertools import islice

import msgspec

from events.json_object import JsonObject
from events.merkle import consistency_path, inclusion_path
from ops.production.archive.errors import NotProvable
from ops.production.archive.proof.checkpoint import Checkpoint
from ops.production.archive.proof.evidence import Evidence, Statement, judge, prefix_agrees
from ops.production.archive.proof.leaves import Leaves
from ops.queries.audit.chain import link_of
from services.runtime.log_port import Entry


def prove(entries: Iterable[Entry], evidence: Evidence, stream: str, sequence: int) -> JsonObject:
    """The proof of one message under the newest checkpoint of its stream. Raises `NotProvable`."""
    head = evidence.heads.get(stream)
    if head is None or stream not in judge(evidence).sound:
        raise NotProvable(stream, sequence, "its stream has no checkpoint with its leaves; `kuelog audit checkpoint`")
    entry = next(islice(entries, sequence - 1, None), None) if 1 <= sequence <= head.sequence else None
    if entry is None:
        raise NotProvable(stream, sequence, f"the checkpoint covers sequences 1 to {head.sequence}")
    leaves = Leaves(evidence.leaves[stream], head.sequence)
    if entry.sequence != sequence or link_of(entry).leaf != leaves[sequence - 1]:
        raise NotProvable(stream, sequence, "it is not the message that was signed; `kuelog audit verify` says more")
    return {
        "stream": stream,
        "sequence": sequence,
        "subject": entry.subject,
        "message_id": entry.message_id,
        "data": base64.b64encode(entry.data).decode(),
        "path": [node.hex() for node in inclusion_path(leaves, sequence - 1)],
        "checkpoint": _plain(head),
        "keys": msgspec.to_builtins(evidence.keys),
    }


def prove_consistency(evidence: Evidence, stream: str, old: Statement, new: Statement) -> JsonObject:
    """The proof that a stream at one checkpoint begins with all that it was at another. Raises `NotProvable`."""
    before, after = old.heads.get(stream), new.heads.get(stream)
    if before is None or after is None:
        which = "older" if before is None else "newer"
        raise NotProvable(stream, 0, f"the {which} file has no checkpoint of it; name another stream with --stream")
    if before.sequence > after.sequence:
        problem = f"the older checkpoint covers {before.sequence} messages, the newer {after.sequence}: name them the other way"
        raise NotProvable(stream, after.sequence, problem)
    leaves = judge(evidence).record.get(stream, Leaves())
    for head in (before, after):
        if not prefix_agrees(leaves, head):
            problem = "the leaves that are kept don't lead to its root; `kuelog audit verify --checkpoint` says more"
            raise NotProvable(stream, head.sequence, problem)
    path = consistency_path(leaves[: after.sequence], before.sequence)
    return {
        "stream": stream,
        "old": _plain(before),
        "consistency": [node.hex() for node in path],
        "checkpoint": _plain(after),
        "keys": msgspec.to_builtins(new.keys),
    }


def _plain(head: Checkpoint) -> JsonObject:
    """All of it that is signed, and by whom."""
    return {name: getattr(head, name) for name in ("sequence", "root", "sha256", "key", "signature")}
