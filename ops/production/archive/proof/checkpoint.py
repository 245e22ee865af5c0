"""A checkpoint: the end of a stream and the root over all of its messages, signed."""

from typing import Annotated

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from events.hash_chain import bytes_hash
from events.merkle import Frontier

MOST = 1 << 62
"""No sequence is larger, whatever a file says."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream was, up to and including `sequence`."""

    sequence: Annotated[int, msgspec.Meta(ge=0, le=MOST)]
    sha256: str
    """The hash of the bytes of the last message, by which a running service compares cheaply."""
    root: str = ""
    peaks: tuple[str, ...] = ()
    """The roots of the complete subtrees: with them the tree grows on. Not signed, for `root` follows from them."""
    key: str = ""
    signature: str = ""


def signed_text(stream: str, checkpoint: Checkpoint) -> bytes:
    """The text that is signed; witnesses of the first days had no root yet."""
    if not checkpoint.root:
        return f"{stream}\n{checkpoint.sequence}\n{checkpoint.sha256}".encode()
    text = f"kuelog checkpoint\n{stream}\n{checkpoint.sequence}\n{checkpoint.root}\n{checkpoint.sha256}\n"
    return text.encode()


def checkpoint_of(tree: Frontier, last: bytes) -> Checkpoint:
    """The checkpoint of a tree whose last message has these bytes; not yet signed."""
    peaks = tuple(peak.hex() for peak in tree.peaks)
    return Checkpoint(sequence=tree.size, sha256=bytes_hash(last), root=tree.root().hex(), peaks=peaks)


def signed_by(public: str, text: bytes, signature: str) -> bool:
    """Whether a public key, in hex, has signed a text."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), text)
    except (InvalidSignature, ValueError):
        return False
    return True
