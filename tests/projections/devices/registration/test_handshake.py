import pytest

from projections.devices.registration.handshake import is_unanswered


@pytest.mark.parametrize(
    ("text", "unanswered"),
    [
        ("Requesting_2026-01-01 00:00:00", True),
        ("Requesting_yesterday", True),
        ("Deleted_2026-01-01 00:00:00", True),
        ("Reported 2026-01-01 00:00:00 +0000 UTC", False),
        ("", False),
    ],
)
def test_who_was_asked_and_has_written_nothing_else_has_not_answered(text: str, unanswered: bool) -> None:
    assert is_unanswered(text) is unanswered
