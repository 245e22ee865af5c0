"""What a worker cluster answers to the question what would happen to a workload there, as a value and as a text.

The question is a copy of the workload that may not be admitted, and bears `ASKED`; the answer replaces that.

Rule: docs/rules/multikueue.md#estimates
"""

import re
from enum import StrEnum

from events.event import Value

ASKED = "asked"
"""What the annotation says while the question is open."""
_ANSWER = re.compile(r"(Now|Preempting|Later)/(0|[1-9][0-9]{0,5})")


class ForeseenStart(StrEnum):
    """When a workload would start; the earlier stands before the later."""

    NOW = "Now"
    PREEMPTING = "Preempting"
    LATER = "Later"


class StartEstimate(Value, frozen=True, kw_only=True):
    """What would happen to a workload in a cluster if it came now, by all rules of that cluster."""

    start: ForeseenStart
    others: int = 0
    """Of one that starts by preemption: how many would have to go. Of one that waits: how many wait before it."""


def estimate_text(found: StartEstimate) -> str:
    """As it stands in an annotation."""
    return f"{found.start}/{found.others}"


def estimate_in(text: str) -> StartEstimate | None:
    """What an annotation answers; None where it is no answer, for anybody can write one."""
    found = _ANSWER.fullmatch(text)
    return StartEstimate(start=ForeseenStart(found[1]), others=int(found[2])) if found is not None else None
