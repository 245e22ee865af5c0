"""The frozen base of every event, and the unit of time in events.

An event is a fact (something observed) or a decision (something a service concluded), named in the past
tense. It carries no time of its own unless the cluster reported one: decisions happen at their commit's `at`. All times
are milliseconds since 1970, UTC.
"""

import msgspec

Millis = int


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Base of all events. Subclasses repeat `frozen=True, kw_only=True` and name their tag `<Name>.v<version>`."""


class Value(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Base of the values that events are made of."""
