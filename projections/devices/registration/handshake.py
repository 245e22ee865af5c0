"""The liveness mark between HAMi's scheduler and a node's device plugin (docs/rules/devices.md#handshake).

The scheduler writes `Requesting_<time>`, the plugin answers by writing something else. The time is local to the scheduler and names no
zone, so nothing is made of it: how long a plugin has been silent, the log says.
"""

from events.event import Millis

TIMEOUT: Millis = 60_000
"""So long a plugin may be silent."""


def is_unanswered(handshake: str) -> bool:
    """Whether the scheduler has asked and the plugin has not answered yet, or has been given up by an older HAMi (`Deleted_<time>`)."""
    return "Requesting" in handshake or handshake.startswith("Deleted_")
