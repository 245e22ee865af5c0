"""How much of each card model there is, how much is free, and how much of that a single request can get.

What is free in sum says little about what fits: a request must find its memory and cores on one card. So the largest
free piece stands beside the sum, and what is left on cards that can serve no request any more is counted as stranded.
"""

from collections.abc import Iterable

import msgspec

from projections.devices.card_use import CardState, NodeCards, states_of, whole_of


class ModelRoom(msgspec.Struct, frozen=True, kw_only=True):
    """Cards, their slots, MiB and cores, counted."""

    cards: int = 0
    slots: int = 0
    memory: int = 0
    cores: int = 0

    def plus(self, cards: int, slots: int, memory: int, cores: int) -> "ModelRoom":
        """This room and so many cards, slots, MiB and cores more."""
        return ModelRoom(
            cards=self.cards + cards,
            slots=self.slots + slots,
            memory=self.memory + memory,
            cores=self.cores + cores,
        )


class ModelCapacity(msgspec.Struct, frozen=True, kw_only=True):
    """One card model over all nodes that were looked at."""

    model: str
    registered: ModelRoom = ModelRoom()
    unhealthy: ModelRoom = ModelRoom()
    cordoned: ModelRoom = ModelRoom()
    """Healthy cards that an operator keeps new pods from."""
    free: ModelRoom = ModelRoom()
    """What is left on healthy cards that nobody cordoned; its `cards` are those that are idle."""
    stranded: ModelRoom = ModelRoom()
    """The part of what is free that lies on cards with no slot, no memory or no cores left."""
    largest_memory: int = 0
    """The most MiB that a request without cores can get of one card."""
    largest_cores: int = 0
    """The most cores that a request can get of one card that has memory left."""
    idle_together: int = 0
    """The most idle cards on one node: the largest request for whole cards."""

    @property
    def scattered_memory(self) -> int:
        """Free MiB that one request for one card cannot reach, however it asks."""
        return self.free.memory - self.largest_memory


def capacity(nodes: Iterable[NodeCards]) -> dict[str, ModelCapacity]:
    """The capacity of every model on these nodes, by model."""
    found: dict[str, ModelCapacity] = {}
    for on in nodes:
        idle: dict[str, int] = {}
        for state in states_of(on):
            model = state.card.model
            found[model] = _with(found.get(model, ModelCapacity(model=model)), state)
            if state.card.healthy and not state.cordoned and not state.use.slots:
                idle[model] = idle.get(model, 0) + 1
        for model, count in idle.items():
            if count > found[model].idle_together:
                found[model] = msgspec.structs.replace(found[model], idle_together=count)
    return {model: found[model] for model in sorted(found)}


def _with(known: ModelCapacity, state: CardState) -> ModelCapacity:
    card, use, of = state.card, state.use, whole_of(state.card)
    whole = (1, of.slots, of.memory, of.cores)
    known = msgspec.structs.replace(known, registered=known.registered.plus(*whole))
    if not card.healthy:
        return msgspec.structs.replace(known, unhealthy=known.unhealthy.plus(*whole))
    if state.cordoned:
        return msgspec.structs.replace(known, cordoned=known.cordoned.plus(*whole))
    slots, memory, cores = of.slots - use.slots, of.memory - use.memory, of.cores - use.cores
    left = (int(use.slots == 0), max(slots, 0), max(memory, 0), max(cores, 0))
    known = msgspec.structs.replace(known, free=known.free.plus(*left))
    if slots <= 0 or memory <= 0 or cores <= 0:
        return msgspec.structs.replace(known, stranded=known.stranded.plus(0, *left[1:]))
    return msgspec.structs.replace(
        known,
        largest_memory=max(known.largest_memory, memory),
        largest_cores=max(known.largest_cores, cores),
    )
