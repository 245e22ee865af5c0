"""Keys are told from what a terminal sends, whole or in pieces of a burst."""

import pytest

from ops.terminal.keys import keys_of


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"q", ["q"]),
        (b"\x1b[A\x1b[B", ["up", "down"]),
        (b"\x1bOA", ["up"]),
        (b"s\x1b[6~r\x1b[H", ["s", "page down", "r", "home"]),
        (b"\x1b", ["escape"]),
        (b"\x1b[1;5Aq", ["q"]),
        (b"\x1b[200", []),
        ("ä".encode() + b"q", ["q"]),
        (b"", []),
    ],
)
def test_keys_are_named_and_what_is_not_known_is_left_out(sent: bytes, keys: list[str]) -> None:
    assert keys_of(sent) == keys
