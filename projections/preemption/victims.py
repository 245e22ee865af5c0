"""The question "who has to make room", by the rule that is in force."""

from projections.preemption.candidates import Ask, Candidate
from projections.preemption.classic import find_victims as find_classic_victims
from projections.preemption.fair import find_victims as find_fair_victims
from projections.world import World


def find_victims(world: World, ask: Ask) -> list[Candidate]:
    """The victims in order, empty when nobody can make enough room. Leaves the world as it was."""
    return find_fair_victims(world, ask) if world.settings.fair_sharing else find_classic_victims(world, ask)
