"""A silent plugin is dead only when the node offers none of its cards any more."""

import pytest

from projections.devices.registration.handshake import Handshake, parse_handshake

ASKED = 1_767_225_600_000
"""2026-01-01T00:00:00Z"""


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("Requesting_2026-01-01 00:00:00", 0, Handshake(word="Requesting", since=ASKED)),
        ("Requesting_2026-01-01 08:00:00", 8 * 3_600_000, Handshake(word="Requesting", since=ASKED)),
        ("Reported 2026-01-01 00:00:00 +0000 UTC", 0, Handshake(word="Reported 2026-01-01 00:00:00 +0000 UTC")),
        ("Deleted_2026-01-01 00:00:00", 0, Handshake(word="Deleted", since=ASKED)),
        ("Requesting_yesterday", 0, Handshake(word="Requesting")),
    ],
)
def test_a_handshake_is_read_as_it_is_written(text: str, offset: int, expected: Handshake) -> None:
    assert parse_handshake(text, offset=offset) == expected


@pytest.mark.parametrize(
    ("word", "since", "later", "allocatable", "alive"),
    [
        ("Requesting", ASKED, 60_000, 0, True),
        ("Requesting", ASKED, 60_001, 0, False),
        ("Requesting", ASKED, 60_001, 10, True),
        ("Requesting", None, 10**9, 0, True),
        ("Reported", ASKED, 10**9, 0, True),
    ],
)
def test_only_a_minute_of_silence_and_no_cards_on_offer_prove_death(
    word: str, since: int | None, later: int, allocatable: int, alive: bool
) -> None:
    assert Handshake(word=word, since=since).alive(ASKED + later, allocatable) is alive
