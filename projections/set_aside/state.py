"""The part of the world that says what services have set aside."""

from typing import Protocol

from projections.quota.state import QuotaState
from projections.set_aside.records import Aside


class SetAsideState(QuotaState, Protocol):
    """What services leave alone because they failed on it."""

    aside: dict[str, Aside]
    """By service and object: `projections.set_aside.records.aside_key`."""
