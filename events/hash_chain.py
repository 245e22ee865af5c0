"""The hash chain of a partition: each commit names the bytes that stand before it (docs/rules/log.md#inputs)."""

import hashlib

from events.commit import Commit

GENESIS = "0" * 64
"""The `prev_hash` of the first commit of a partition."""


def bytes_hash(data: bytes) -> str:
    """The hash by which the next commit names this one: SHA-256 over the bytes as stored."""
    return hashlib.sha256(data).hexdigest()


def follows(commit: Commit, base: int, prev_hash: str) -> bool:
    """Whether a commit was made behind this sequence and names the bytes that stand there."""
    return commit.base == base and commit.prev_hash == prev_hash
