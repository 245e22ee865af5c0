"""The devices of an entry: the cards its pods would get, and the workloads to preempt for them.

Rule: docs/rules/devices.md#gang, docs/rules/preemption.md#card-victims
"""

import msgspec

from events.admission import Mode
from events.device import PodPlacement
from events.event import Millis
from projections.devices.capacity.offer import any_cap, cap
from projections.devices.placement.gang import WAITING_FOR_CARDS, Gang, Placed, place_or_tell
from projections.devices.placement.slice_cards import kept_placements, numbered, staying
from projections.devices.placement.workload_gangs import chooses_cards
from projections.devices.requests.card_requests import asks_for_cards
from projections.devices.state import DeviceState, config_of
from projections.flavors.plan import Plan
from projections.preemption.candidates import Candidate
from projections.preemption.card_victims import cards_coming_back, with_card_victims
from projections.preemption.state import PreemptionState
from projections.queues.state import QueueState
from projections.quota.columns import Column
from projections.topology.placement.card_places import in_order
from services.admitter.entry import AdmissionEntry, preemption_context_of
from services.admitter.topology import COMING_BACK


class CardRefusals:
    """Flavors that have enough quota but no suitable cards, with the message, by pod set and flavor."""

    __slots__ = ("for_now", "why")

    def __init__(self) -> None:
        self.why: dict[tuple[str, str], str] = {}
        self.for_now: set[tuple[str, str]] = set()
        """Those that would fit if other workloads gave cards back."""

    @property
    def for_ever(self) -> dict[tuple[str, str], str]:
        """Those that no card could hold even if nothing ran."""
        return {key: why for key, why in self.why.items() if key not in self.for_now}

    def note(self, placed: Placed, flavor: str) -> None:
        """Record why a pod set finds no cards on a flavor."""
        key = (placed.pod_set, flavor)
        self.why[key] = placed.message
        if placed.reason == WAITING_FOR_CARDS:
            self.for_now.add(key)


def card_caps(world: QueueState, plan: Plan) -> dict[Column, int]:
    """What the cards of a plan's flavors really offer, by column; only for flavors under the device policy Cap."""
    if not any_cap(world):
        return {}
    names = world.quota.columns.names
    columns = {
        column for part in plan.parts for group in part.groups for option in group.options for column in option.columns
    }
    caps = {column: cap(world, *names[column]) for column in sorted(columns)}
    return {column: most for column, most in caps.items() if most is not None}


def placed_on_cards(world: DeviceState, entry: AdmissionEntry, plan: Plan) -> Placed:
    """The cards for every pod of the entry's assignment, or the reason why there are none; empty if it asks for none.

    Those of pods that are placed by topology were found with their domains.
    """
    gangs = _gangs(world, entry, plan)
    if not gangs:
        return Placed(placements=entry.placements)
    with world.trial():
        world.cards.trial(entry.placements)
        placed = place_or_tell(world.cards, world.nodes, gangs, world.trail)
    if placed.reason or not entry.placements:
        return placed
    both = (*entry.placements, *placed.placements)
    return Placed(placements=in_order(both, [one.pod_set.name for one in plan.asked]))


def enough_for_cards(
    world: PreemptionState, entry: AdmissionEntry, plan: Plan, chosen: list[Candidate], at: Millis
) -> list[Candidate]:
    """The victims chosen for quota and those needed for cards beside them; empty when cards would still be missing."""
    gangs = _gangs(world, entry, plan)
    if not chosen or not gangs:
        return chosen
    return (
        with_card_victims(
            world, preemption_context_of(entry, at, entry.usage, _card_columns(world, entry)), gangs, chosen
        )
        or []
    )


def waits_for_cards(world: DeviceState, entry: AdmissionEntry, plan: Plan) -> bool:
    """Whether cards that are being given back suffice; the entry is then deferred on them.

    It keeps its quota for the cycle: otherwise others would be admitted there and preempted again.
    """
    gangs = _gangs(world, entry, plan)
    if entry.mode is not Mode.FIT:
        return False
    entry.placements = cards_coming_back(world, gangs)
    entry.deferred = bool(entry.placements)
    if entry.deferred:
        entry.reason, entry.message = WAITING_FOR_CARDS, COMING_BACK
    return entry.deferred


def cards_once_left(world: DeviceState, entry: AdmissionEntry, plan: Plan) -> tuple[PodPlacement, ...]:
    """The cards that the entry will have as soon as its victims, and all who have lost their quota, have given theirs back."""
    gangs = _gangs(world, entry, plan)
    return cards_coming_back(world, gangs, entry.victims) if gangs else ()


def preempts_for_cards(world: PreemptionState, entry: AdmissionEntry, plan: Plan, at: Millis) -> bool:
    """Whether preemption frees the cards that an entry with enough quota lacks; its victims and mode are set then."""
    gangs = _gangs(world, entry, plan)
    if entry.assignment is None or entry.mode is not Mode.FIT:
        return False
    victims = with_card_victims(
        world, preemption_context_of(entry, at, entry.usage, _card_columns(world, entry)), gangs, []
    )
    if not victims:
        return False
    entry.victims = victims
    entry.placements = cards_once_left(world, entry, plan)
    for pod_set in entry.assignment.pod_sets:
        for resource, choice in pod_set.flavors.items():
            if resource in config_of(world).names:
                pod_set.flavors[resource] = msgspec.structs.replace(choice, mode=Mode.PREEMPT)
        pod_set.reasons.append("no card can hold it as they are")
    return True


def card_flavor(world: DeviceState, entry: AdmissionEntry, pod_set: str) -> str:
    """The flavor assigned to a pod set's card resources; empty when no quota covers them."""
    if entry.assignment is None:
        return ""
    chosen, names = next(one for one in entry.assignment.pod_sets if one.name == pod_set), config_of(world).names
    return next((chosen.flavors[name].flavor for name in sorted(chosen.flavors) if name in names), "")


def _gangs(world: DeviceState, entry: AdmissionEntry, plan: Plan) -> list[Gang]:
    """The pods whose cards are chosen on their own; those that are placed by topology get theirs with their domains.

    Rule: docs/rules/topology.md#cards
    """
    if not chooses_cards(world, entry.workload):
        return []
    config, stay = config_of(world), _staying(entry, plan)
    return [
        Gang(
            pod_set=one.pod_set,
            count=one.count - stay.get(one.pod_set.name, 0),
            flavor=world.flavors.get(card_flavor(world, entry, one.pod_set.name)),
            namespace=entry.workload.namespace,
            config=config,
        )
        for one, by_topology in zip(plan.asked, plan.by_topology, strict=True)
        if not (by_topology and one.count) and asks_for_cards(one.pod_set.shape, config)
        if one.count > stay.get(one.pod_set.name, 0)
    ]


def _staying(entry: AdmissionEntry, plan: Plan) -> dict[str, int]:
    """How many pods of each set run on from the slice before, with the cards that they have."""
    old = entry.replaces
    if old is None or old.admission is None:
        return {}
    return staying(old, {one.pod_set.name: one.count for one in plan.asked})


def cards_kept(world: DeviceState, entry: AdmissionEntry, plan: Plan) -> tuple[PodPlacement, ...]:
    """The cards that those pods keep."""
    return () if entry.replaces is None else kept_placements(world, entry.replaces, _staying(entry, plan))


def behind(entry: AdmissionEntry, placements: tuple[PodPlacement, ...]) -> tuple[PodPlacement, ...]:
    """The placements of pods that come, numbered behind all of the slice before."""
    old = entry.replaces
    return placements if old is None or old.devices is None else numbered(placements, old.devices.placements)


def _card_columns(world: QueueState, entry: AdmissionEntry) -> tuple[int, ...]:
    if entry.assignment is None:
        return ()
    return tuple(
        dict.fromkeys(
            world.quota.columns.of(choice.flavor, resource)
            for pod_set in entry.assignment.pod_sets
            for resource, choice in pod_set.flavors.items()
            if resource in config_of(world).names
        )
    )
