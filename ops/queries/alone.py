"""Whether a workload would get in if nobody else held quota, places or cards: what is said to wait, or never to fit, is held against that."""

from events.admission import Mode
from events.event import Millis
from projections.explanation.fixes import NEVER, fix_for
from projections.explanation.words import Explanation
from projections.preemption.card_victims import vacate_leavers
from projections.preemption.classic import free
from projections.queues.pending_queues import ScanProgress
from projections.workloads.slices import replaced_slice
from projections.world import World
from services.admitter.entry import AdmissionEntry, QueueHead
from services.admitter.flavor_plans import plan_for
from services.admitter.nomination import consider, nominate

FITS_LATER = "wait: it does not fit as things stand, and it would if nothing else held quota or cards{fewer}"
NEVER_FITS = "waiting does not help: if nothing else held quota or cards, it would be refused with {reason}: {message}"


def hold_against_alone(world: World, head: QueueHead, explanation: Explanation, at: Millis) -> None:
    """Correct what an explanation says to do where it waits for what would not let it in, or is told never to fit and would."""
    found = alone(world, head, at)
    reason, message = found.refusal()
    if found.mode is Mode.FIT and not found.reason:
        if explanation.reason in NEVER:
            fewer = " (with fewer pods, down to its minCount)" if _has_minimum(head) else ""
            explanation.fix = FITS_LATER.format(fewer=fewer)
    elif found.mode is not Mode.PREEMPT and reason in NEVER and explanation.reason not in NEVER:
        explanation.note = NEVER_FITS.format(reason=reason, message=message)
        explanation.fix = fix_for(reason)


def alone(world: World, head: QueueHead, at: Millis) -> AdmissionEntry:
    """The entry of a workload in a world in which nobody else holds anything; the world is left as it was."""
    before = replaced_slice(world, head.workload)
    stays = before.key if before is not None else ""
    with world.trial(deciding=True):
        for name, holders in world.holding.items():
            node = world.quota.node(name)
            for key, usage in holders.usage.items():
                if key == stays:
                    continue
                if node is not None:
                    free(world.trail, node, usage)
                held = world.domains.held_by(key)
                if held is not None:
                    held.vacate()
                world.cards.vacate(key)
        vacate_leavers(world.workloads, world.cards)
        found = nominate(world, head, at)
        _try_all_flavors(world, found, at)
        return found


def _try_all_flavors(world: World, entry: AdmissionEntry, at: Millis) -> None:
    """Go on with the flavors that one turn leaves to the next, until one fits or all were tried."""
    seen: set[ScanProgress] = {()}
    while entry.assignment is not None and entry.mode is not Mode.FIT and entry.come_to not in seen:
        seen.add(entry.come_to)
        entry.progress = {(pod_set, resource): index for pod_set, resource, index in entry.come_to}
        consider(world, entry, plan_for(world, entry.head), at)


def _has_minimum(head: QueueHead) -> bool:
    return any(one.minimum is not None for one in head.workload.spec.pod_sets)
