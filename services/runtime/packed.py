"""Saved worlds and views as they are kept: deflated piece by piece, so that the whole of one, which may be large, is held nowhere."""

import hashlib
import zlib
from collections.abc import Iterable

import msgspec

_MOST = 2 << 30
"""The most bytes of a saved world when unpacked: a larger one would only fill our memory."""
_FASTEST = 1


class Packed(msgspec.Struct, frozen=True, gc=False):
    """What is to be kept, deflated, and the SHA-256 of what it was before."""

    sha256: str
    deflated: bytes


def packed(pieces: Iterable[bytes]) -> Packed:
    """What these pieces are in one, packed."""
    digest, packing = hashlib.sha256(), zlib.compressobj(_FASTEST)
    parts: list[bytes] = []
    for piece in pieces:
        digest.update(piece)
        parts.append(packing.compress(piece))
    parts.append(packing.flush())
    return Packed(digest.hexdigest(), b"".join(parts))


def unpacked(deflated: bytes) -> bytes:
    """What was packed; nothing when it is no whole."""
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(deflated, _MOST)
    except zlib.error:
        return b""
    return data if unpacking.eof else b""
