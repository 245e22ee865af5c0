"""The search for victims by the strategy in force, classic or fair."""

from projections.preemption.candidates import Candidate, PreemptionContext
from projections.preemption.classic import find_victims as find_classic_victims
from projections.preemption.fair import find_victims as find_fair_victims
from projections.preemption.state import PreemptionState


def find_victims(world: PreemptionState, context: PreemptionContext) -> list[Candidate]:
    """The victims in order, empty when nobody can make enough room. Leaves the world as it was."""
    return find_fair_victims(world, context) if world.settings.fair_sharing else find_classic_victims(world, context)
