"""Whether a workload would get in if nobody else held quota, places or cards: what is said to wait, or never to fit, is held against that."""

from events.admission import Mode
from events.event import Millis
from projections.devices.holdings.card_stakes import POD
from projections.devices.requests.card_requests import asks_for_cards
from projections.devices.state import config_of
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
        _free_quota(world, head, stays)
        if _places_by_topology(world, head):
            _free_domains(world, stays)
        if any(asks_for_cards(one.shape, config_of(world)) for one in head.workload.spec.pod_sets):
            _free_cards(world, stays)
        found = nominate(world, head, at)
        _try_all_flavors(world, found, at)
        return found


def _free_quota(world: World, head: QueueHead, stays: str) -> None:
    """Take away what holders of its own tree use of quota: what those of other trees use is not its to have."""
    node = world.quota.node(head.queue.name)
    for leaf in node.root.leaves() if node is not None else ():
        held = world.holding.get(leaf.name)
        for key, usage in held.usage.items() if held is not None else ():
            if key != stays:
                free(world.trail, leaf, usage)


def _places_by_topology(world: World, head: QueueHead) -> bool:
    found = [world.flavors.get(name) for name in head.queue.flavors]
    return any(one is not None and one.topology for one in found)


def _free_domains(world: World, stays: str) -> None:
    """Take away the places of all who hold some: trees may share the nodes."""
    for key in list(world.domains.held()):
        held = world.domains.held_by(key)
        if key != stays and held is not None:
            held.vacate()


def _free_cards(world: World, stays: str) -> None:
    """Take away the cards of all workloads, for the same reason; those of pods that no queue manages stay."""
    owners = [one for one in world.cards.living if not one.startswith(POD)]
    for key in dict.fromkeys((*world.cards.holders(), *owners)):
        if key != stays:
            world.cards.vacate(key)
    vacate_leavers(world.workloads, world.cards)


def _try_all_flavors(world: World, entry: AdmissionEntry, at: Millis) -> None:
    """Go on with the flavors that one turn leaves to the next, until one fits or all were tried."""
    seen: set[ScanProgress] = {()}
    while entry.assignment is not None and entry.mode is not Mode.FIT and entry.come_to not in seen:
        seen.add(entry.come_to)
        entry.progress = {(pod_set, resource): index for pod_set, resource, index in entry.come_to}
        consider(world, entry, plan_for(world, entry.head), at)


def _has_minimum(head: QueueHead) -> bool:
    return any(one.minimum is not None for one in head.workload.spec.pod_sets)
