"""Recorded HAMi cases that kuelog leaves out, and why."""

from typing import Any

STAND_IN = "made with a stand-in vendor of HAMi's tests, whose rules are not recorded"

BY_WORDS = frozenset({"calc_score", "fit_in_devices", "node_override_score"})
"""Kinds whose outcome rests on the rules of the vendors in their requests and shares."""


def why_not(kind: str, case: dict[str, Any]) -> str | None:
    """Why a case is out of scope, or None."""
    given = case["in"]
    if kind == "pod_requests" and not given["vendors"] and any(case["out"]["requests"]):
        return STAND_IN
    if kind in BY_WORDS and any(word.startswith("mock") for word in _words(given)):
        return STAND_IN
    return None


def _words(given: dict[str, Any]) -> set[str]:
    """The vendor words in the requests and shares of a case."""
    words = set(given.get("devices") or {}) if isinstance(given.get("devices"), dict) else set()
    requests = given.get("requests") or []
    for rows in [requests] if isinstance(requests, dict) else requests:
        words |= {row["type"] for row in (rows or {}).values()}
    return words
