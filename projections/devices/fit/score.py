"""How full cards and nodes are, and in which order cards are tried (docs/rules/devices.md#ranking).

Scores are exact: a fraction where it is shown, a scaled whole number where it only orders. Two different fractions
whose denominators stay below 2^40 stay different when scaled by 2^96.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction

from events.card import Card, CardRequest
from projections.devices.annotations.steering import BINPACK, MUTEX, NUMA, SPREAD, Weights
from projections.devices.card_use import IDLE, CardState, CardUse

SCALE = 1 << 96
Key = tuple[int, ...]


def fullness(card: Card, use: CardUse, weights: Weights) -> int:
    """How full a card is over slots, cores and memory, scaled; 0 if it lacks one of the three altogether."""
    if not (card.slots and card.cores and card.memory):
        return 0
    whole = card.slots * card.cores * card.memory
    taken = (
        weights.slot * use.slots * card.cores * card.memory
        + weights.core * use.cores * card.slots * card.memory
        + weights.memory * use.memory * card.slots * card.cores
    )
    return taken * SCALE // whole


def asked_of(card: Card, requests: Iterable[CardRequest]) -> CardUse:
    """What the requests of one container count in a card's score: one slot each, and those only whose vendor word is its model.

    So HAMi has it (docs/rules/devices.md#ranking), and the recorded scores hold: a request for two cards counts one
    slot, and on a real model name nothing of it counts. Cards are then ordered by what is taken of them already, which is the
    same order as with the request wherever the cards of a node are alike. Releases after the one that the rules were read from
    count requests on real models as well; where cards of unlike size stand on one node they may choose another card, and the
    pins keep them to ours.
    """
    asked = IDLE
    for request in requests:
        if request.vendor != card.model:
            continue
        memory = card.memory * request.percent // 100 if request.percent else request.memory
        asked = asked.plus(CardUse(1, memory, request.cores))
    return asked


def node_score(states: Iterable[CardState]) -> Fraction:
    """The score of a node before a pod comes: 10 times the fullness of all its cards together."""
    return 10 * sum((Fraction(used, whole) for used, whole in _used_of(states)), Fraction(0))


def node_fullness(states: Iterable[CardState]) -> int:
    """How full a node is, scaled: the same order as its score, without fractions."""
    return sum(used * SCALE // whole for used, whole in _used_of(states))


def _used_of(states: Iterable[CardState]) -> list[tuple[int, int]]:
    """What is used of the slots, the cores and the memory of all cards together, and how much that is; without what they lack."""
    slots = cores = memory = used_slots = used_cores = used_memory = 0
    for state in states:
        slots, cores, memory = slots + state.card.slots, cores + state.card.cores, memory + state.card.memory
        used_slots += state.use.slots
        used_cores += state.use.cores
        used_memory += state.use.memory
    return [(used, whole) for used, whole in ((used_slots, slots), (used_cores, cores), (used_memory, memory)) if whole]


def card_order(policy: str, *, numa_bind: bool) -> Callable[[int, int, int, int], Key]:
    """The key by which cards are sorted; they are then tried from the last to the first.

    The key takes score, used slots, NUMA node and index. One policy alone has no last tie-break (the order of the list
    stays); a chain such as `binpack,numa` ends in the index.
    """
    words = [word.strip() for word in policy.split(",")]
    if len(words) > 1 or policy == NUMA:
        return _chain(words, numa_bind=numa_bind)
    if policy == MUTEX:
        return lambda score, used, numa, index: (-used, numa)
    if policy == BINPACK:
        if numa_bind:
            return lambda score, used, numa, index: (-numa, score)
        return lambda score, used, numa, index: (score, numa)
    if numa_bind:
        return lambda score, used, numa, index: (numa, -score)
    return lambda score, used, numa, index: (-score, numa)


def _chain(words: list[str], *, numa_bind: bool) -> Callable[[int, int, int, int], Key]:
    keys = [word for word in dict.fromkeys(words) if word in (BINPACK, SPREAD, NUMA)] or [SPREAD]
    if numa_bind:
        keys = [NUMA, *(key for key in keys if key != NUMA)]

    def key(score: int, used: int, numa: int, index: int) -> Key:
        parts = {BINPACK: score, SPREAD: -score, NUMA: numa}
        return (*(parts[name] for name in keys), index)

    return key
