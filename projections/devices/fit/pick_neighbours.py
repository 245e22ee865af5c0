"""Taking devices of AWS Neuron: idle ones beside each other (docs/rules/devices.md#vendor-checks)."""

from collections.abc import Sequence

from events.card import CardRequest, CardShare
from projections.devices.card_use import CardState
from projections.devices.fit import card_checks
from projections.devices.fit.container_fit import ContainerFit

NODE_TYPE = "AWSNodeType"
USED_CORES = "awsusageinfo"
_RUNS = (1, 4, 8, 16)


def pick_neighbours(states: Sequence[CardState], request: CardRequest) -> ContainerFit:
    """So many idle devices beside each other; on other nodes than those of Inferentia only at multiples of the count."""
    kind = str(states[0].card.custom.get(NODE_TYPE, "")) if states else ""
    step = 1 if "inf" in kind.lower() else request.count
    if step == 1 or request.count in _RUNS:
        line = sorted(states, key=lambda state: state.card.index)
        for start in range(0, len(line) - request.count + 1, step):
            run = line[start : start + request.count]
            if all(state.card.healthy and not state.cordoned and not state.use.slots for state in run):
                return ContainerFit(
                    picked=tuple(_whole(state, request) for state in run), complete=True, cards=len(states)
                )
    return ContainerFit(picked=(), complete=False, refusals={card_checks.WRONG_NUMA: 1}, cards=len(states))


def _whole(state: CardState, request: CardRequest) -> CardShare:
    card = state.card
    return CardShare(
        uuid=card.uuid,
        vendor=request.vendor,
        memory=card.memory,
        cores=card.cores,
        index=card.index,
        custom={USED_CORES: card.cores},
    )
