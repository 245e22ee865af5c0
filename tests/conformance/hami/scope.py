"""Recorded HAMi cases that kuelog leaves out, and why."""

from typing import Any

OTHER_VENDORS = {
    "awsneuron": "AWS Neuron cards are not supported: see projections/devices/vendors.py",
    "enflame": "Enflame cards are not supported: see projections/devices/vendors.py",
    "kunlun": "Kunlun cards are not supported: see projections/devices/vendors.py",
    "metax": "Metax cards are not supported: see projections/devices/vendors.py",
    "mthreads": "Mthreads cards are not supported: see projections/devices/vendors.py",
}
"""By the vendor that a case names."""


OTHER_WORDS = {
    "awsneuron": "awsneuron",
    "enflame": "enflame",
    "gcu": "enflame",
    "kunlun": "kunlun",
    "metax": "metax",
    "mthreads": "mthreads",
    "xpu": "kunlun",
}
"""The vendor by the beginning of the word that stands in requests and shares."""

STAND_IN = "made with a stand-in vendor of HAMi's tests, whose rules are not recorded"

BY_WORDS = frozenset({"calc_score", "fit_in_devices", "node_override_score"})
"""Kinds whose outcome rests on the rules of the vendors in their requests and shares."""


def why_not(kind: str, case: dict[str, Any]) -> str | None:
    """Why a case is out of scope, or None."""
    given = case["in"]
    if given.get("vendor") in OTHER_VENDORS:
        return OTHER_VENDORS[given["vendor"]]
    if kind == "pod_requests" and not given["vendors"] and any(case["out"]["requests"]):
        return STAND_IN
    if kind not in BY_WORDS:
        return None
    for word in sorted(_words(given)):
        for beginning, vendor in OTHER_WORDS.items():
            if word.lower().startswith(beginning):
                return OTHER_VENDORS[vendor]
        if word.startswith("mock"):
            return STAND_IN
    return None


def _words(given: dict[str, Any]) -> set[str]:
    """The vendor words in the requests and shares of a case."""
    words = set(given.get("devices") or {}) if isinstance(given.get("devices"), dict) else set()
    requests = given.get("requests") or []
    for rows in [requests] if isinstance(requests, dict) else requests:
        words |= {row["type"] for row in (rows or {}).values()}
    return words
