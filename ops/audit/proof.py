"""Inclusion proofs: one message, its place in the tree, and the signed root, for people who have nothing of the log."""

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from events.merkle import inclusion_path
from ops.audit.chain import link_of
from ops.audit.errors import NotProvable
from ops.audit.evidence import Evidence, judge
from services.log_port import Entry


def prove(entries: Sequence[Entry], evidence: Evidence, stream: str, sequence: int) -> dict[str, Any]:
    """The proof of one message under the newest checkpoint of its stream. Raises `NotProvable`."""
    head = evidence.heads.get(stream)
    if head is None or stream not in judge(evidence).sound:
        raise NotProvable(stream, sequence, "its stream has no checkpoint with its leaves; `kuelog audit checkpoint`")
    if not 1 <= sequence <= min(head.sequence, len(entries)):
        raise NotProvable(stream, sequence, f"the checkpoint covers sequences 1 to {head.sequence}")
    entry = entries[sequence - 1]
    leaves = [evidence.leaves[stream][i * 32 : i * 32 + 32] for i in range(head.sequence)]
    if entry.sequence != sequence or link_of(entry).leaf != leaves[sequence - 1]:
        raise NotProvable(stream, sequence, "it is not the message that was signed; `kuelog audit verify` says more")
    return {
        "stream": stream,
        "sequence": sequence,
        "subject": entry.subject,
        "message_id": entry.message_id,
        "data": base64.b64encode(entry.data).decode(),
        "path": [node.hex() for node in inclusion_path(leaves, sequence - 1)],
        "checkpoint": {
            "sequence": head.sequence,
            "root": head.root,
            "sha256": head.sha256,
            "key": head.key,
            "signature": head.signature,
        },
        "keys": msgspec.to_builtins(evidence.keys),
    }
