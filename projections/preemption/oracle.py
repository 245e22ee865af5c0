"""Whether and how room can be made for one flavor and resource (docs/rules/flavors.md#who-may-ask)."""

from collections.abc import Sequence

from events.admission import Mode
from projections.flavors.mode import Granular, lowest_that_fits
from projections.preemption.candidates import Candidate, PreemptionContext
from projections.preemption.classic import discharge
from projections.trail import Trail


def how_room_is_made(trail: Trail, context: PreemptionContext, victims: Sequence[Candidate]) -> Granular:
    """Preempt when own workloads have to go, Reclaim when only others', NoPreemptionCandidates when nobody can."""
    with trail.trial():
        for victim in victims:
            discharge(trail, victim)
        borrow = max(lowest_that_fits(context.node, column, amount).height for column, amount in context.usage.items())
    if not victims:
        return Granular(Mode.NO_CANDIDATES, borrow)
    own = any(victim.node is context.node for victim in victims)
    return Granular(Mode.PREEMPT if own else Mode.RECLAIM, borrow)
