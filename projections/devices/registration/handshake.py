"""The liveness mark between HAMi's scheduler and a node's device plugin (docs/rules/devices.md#handshake).

The scheduler writes `Requesting_<time>`, the plugin answers by writing something else. The stamp is in the local time
of the scheduler, which says nothing of its zone, so the reader must bring the offset.
"""

import re

import msgspec

from events.event import Millis
from events.timestamp import days_from_civil

TIMEOUT: Millis = 60_000
_REQUESTING = "Requesting"
_FORM = re.compile(r"^([A-Za-z]+)_(\d{4})[-.](\d\d)[-.](\d\d) (\d\d):(\d\d):(\d\d)$")
_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000, 3_600_000, 60_000, 1000


class Handshake(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the annotation: the word, and since when, as far as that can be read."""

    word: str
    since: Millis | None = None

    @property
    def unanswered(self) -> bool:
        """Whether the scheduler has asked and the plugin has not answered yet."""
        return _REQUESTING in self.word

    def alive(self, at: Millis, allocatable: int) -> bool:
        """Whether the plugin counts as alive; a stamp that cannot be read is no proof of death.

        A plugin that has been silent for a minute is dead only if the node offers none of its cards any more.
        """
        if not self.unanswered or self.since is None or at - self.since <= TIMEOUT:
            return True
        return allocatable > 0


def parse_handshake(text: str, *, offset: Millis = 0) -> Handshake:
    """The handshake of a node; `offset` is how far the scheduler's local time is ahead of UTC."""
    found = _FORM.match(text)
    if found is None:
        return Handshake(word=text.partition("_")[0])
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[1:])
    local = days_from_civil(year, month, day) * _DAY + hour * _HOUR + minute * _MINUTE + second * _SECOND
    return Handshake(word=found[1], since=local - offset)
