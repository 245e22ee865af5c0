"""The frozen shape that every event shares, and the time it is told in.

An event is a fact (something observed) or a decision (something a service concluded), told in the past tense. It
carries no time of its own unless the cluster told one: decisions happen at their commit's `at`. All times are
milliseconds since 1970, UTC.
"""

import msgspec

Millis = int


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Base of all events. Subclasses repeat `frozen=True, kw_only=True` and name their tag `<Name>.v<version>`."""


class Value(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Base of the words that events are made of."""
