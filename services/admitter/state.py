"""The part of the world that the admitter sees: all that preemption does, and what it has noted to save work."""

from typing import Protocol

from events.event import Millis
from projections.flavors.plan import PlanCache
from projections.preemption.state import PreemptionState


class AdmitterState(PreemptionState, Protocol):
    """Who waits, what is free, who holds it and who may go for it, with the shortcuts on which no decision depends."""

    shortcuts: bool
    """Whether work may be saved by what was noted, and by answers that need no search."""
    plan_cache: PlanCache
    examined: dict[tuple[str, str], tuple[int, Millis, str]]
    """By cluster queue and class of refused workloads: the stamp, and a time that matters, when it was found not to fit."""
    cards_looked_at: int
    """The number of card changes when all trees were last found to need no decision."""
