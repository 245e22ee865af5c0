"""The question "who has to make room", by the rule that is in force."""

from projections.preemption.candidates import Candidate, PreemptionContext
from projections.preemption.classic import find_victims as find_classic_victims
from projections.preemption.fair import find_victims as find_fair_victims
from projections.world import World


def find_victims(world: World, context: PreemptionContext) -> list[Candidate]:
    """The victims in order, empty when nobody can make enough room. Leaves the world as it was."""
    return find_fair_victims(world, context) if world.settings.fair_sharing else find_classic_victims(world, context)
