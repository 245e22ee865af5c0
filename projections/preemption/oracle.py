"""The oracle of the flavor search: for one flavor and resource, whether and how room can be made (kueue-semantics §5.3)."""

from events.admission import Mode
from events.quota import PreemptionPolicy
from projections.flavors.mode import Granular, lowest_that_fits
from projections.preemption.candidates import Ask
from projections.preemption.classic import discharge
from projections.preemption.victims import find_victims
from projections.world import World


def ask_who_makes_room(world: World, ask: Ask) -> Granular:
    """Preempt when own workloads have to go, Reclaim when only others', NoPreemptionCandidates when nobody can."""
    rules, never = ask.queue.preemption, PreemptionPolicy.NEVER
    if rules.within_cluster_queue is never and rules.reclaim_within_cohort is never:
        return Granular(Mode.NO_CANDIDATES)
    victims = find_victims(world, ask)
    if not victims:
        return Granular(Mode.NO_CANDIDATES)
    mark = world.mark()
    for victim in victims:
        discharge(world, victim)
    borrow = max(lowest_that_fits(ask.node, column, amount)[0] for column, amount in ask.usage.items())
    world.undo(mark)
    own = any(victim.node is ask.node for victim in victims)
    return Granular(Mode.PREEMPT if own else Mode.RECLAIM, borrow)
