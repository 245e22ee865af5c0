"""What each `preemptionStrategies` entry of fair sharing compares before a candidate may be preempted.

Rule: docs/rules/fair-sharing.md#fair-strategies

Three shares take part, and each is a type of its own, so that no comparison can take one for another. All are those of the
two children of the lowest cohort that holds both queues (`mutual_preemption.sides`).
"""

from collections.abc import Callable
from typing import NewType

from events.settings import FairStrategy
from projections.fair_sharing.share import Share

PreemptorNewShare = NewType("PreemptorNewShare", Share)
"""The preemptor's side once the workload that asks for room is charged."""
TargetOldShare = NewType("TargetOldShare", Share)
"""The candidate's side while the candidate still holds its quota."""
TargetNewShare = NewType("TargetNewShare", Share)
"""The candidate's side once the candidate has given its quota back."""


def allowed_by_strategy(
    strategy: FairStrategy,
    preemptor_new: PreemptorNewShare,
    target_old: TargetOldShare,
    target_new: Callable[[], TargetNewShare],
) -> bool:
    """Whether a strategy lets the candidate be preempted; `target_new` is reckoned only where the strategy compares it."""
    match strategy:
        case FairStrategy.LESS_THAN_INITIAL_SHARE:
            return preemptor_new < target_old
        case FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE:
            return preemptor_new <= target_new()
