"""An object in JSON that ends with the hash of all that stands before: what was damaged is found before any of it is believed."""

import hashlib
from collections.abc import Iterable, Iterator

_SEAL = b',"seal":"'


def sealed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The object that these pieces are in one, with its seal as the last field."""
    digest, held = hashlib.sha256(), b""
    for piece in pieces:
        digest.update(held)
        yield held
        held = piece
    last = held[:-1]
    digest.update(last)
    yield last + _SEAL + digest.hexdigest().encode() + b'"}'


def is_whole(data: bytes) -> bool:
    """Whether an object is the one that was sealed; of one that never was nobody can say that it is not."""
    before, mark, seal = data.rpartition(_SEAL)
    return not mark or seal == hashlib.sha256(before).hexdigest().encode() + b'"}'
