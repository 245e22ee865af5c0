"""What is kept is packed piece by piece, and comes back whole or not at all."""

import hashlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runtime import packed as module
from services.runtime.packed import packed, unpacked


@given(st.lists(st.binary()))
def test_pieces_come_back_in_one_and_are_known_by_the_hash_of_that(pieces: list[bytes]) -> None:
    kept, data = packed(iter(pieces)), b"".join(pieces)
    assert kept.sha256 == hashlib.sha256(data).hexdigest()
    assert unpacked(kept.deflated) == zlib.decompress(kept.deflated) == data


def test_what_is_torn_or_was_never_packed_is_nothing() -> None:
    kept = packed([b"a world" * 100]).deflated
    assert unpacked(kept[:-1]) == unpacked(b"a world") == unpacked(b"") == b""


def test_what_would_fill_the_memory_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 699)
    assert unpacked(packed([b"a world" * 100]).deflated) == b""
