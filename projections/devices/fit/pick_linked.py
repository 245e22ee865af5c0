"""Taking linked cards: neighbours of AWS Neuron, one zone of MetaX (docs/rules/devices.md#vendor-checks)."""

from collections.abc import Mapping, Sequence

from events.card import CardRequest, CardShare
from projections.devices.annotations.terms import OFFLINE, ONLINE, Terms
from projections.devices.card_use import CardState
from projections.devices.fit import card_checks
from projections.devices.fit.container_fit import ContainerFit
from projections.devices.vendors.table import ZONE

NODE_TYPE = "AWSNodeType"
USED_CORES = "awsusageinfo"
_RUNS = (1, 4, 8, 16)
_WHOLE = 100


def pick_run(states: Sequence[CardState], request: CardRequest) -> ContainerFit:
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


def linked_first(
    shares: Sequence[CardShare],
    states: Sequence[CardState],
    request: CardRequest,
    terms: Terms,
    refusals: Mapping[str, int],
    cards: int,
) -> ContainerFit:
    """Of all cards that serve those that go best: with the fewest that are online, or of as few zones as possible."""
    if len(shares) < request.count:
        short = {**refusals, card_checks.TOO_FEW: len(shares)} if shares else refusals
        return ContainerFit(picked=(), complete=False, refusals=dict(short), cards=cards)
    best = tuple(shares)
    if len(shares) > request.count and terms.tenant == ONLINE:
        by_card = {state.card.uuid: state for state in states}
        best = tuple(sorted(shares, key=lambda share: _company(by_card[share.uuid])))
    elif len(shares) > request.count and not terms.tenant and request.cores == _WHOLE:
        best = _by_zone(shares, states, request.count)
    return ContainerFit(picked=best[: request.count], complete=True, cards=cards)


def _company(state: CardState) -> tuple[bool, int, int]:
    online, offline = state.tenants.count(ONLINE), state.tenants.count(OFFLINE)
    alone = not online and offline > 0
    return (alone, offline, 0) if alone else (alone, online, offline)


def _by_zone(shares: Sequence[CardShare], states: Sequence[CardState], count: int) -> tuple[CardShare, ...]:
    """Those of the smallest zone that has enough; else zones from the smallest, and those without one last."""
    zones: dict[int | str, list[CardShare]] = {}
    for share, state in zip(shares, states, strict=True):
        zones.setdefault(state.card.custom.get(ZONE, 0), []).append(share)
    linked = sorted((zones[zone] for zone in zones if zone), key=lambda each: len(each))
    for each in linked:
        if len(each) >= count:
            return tuple(each)
    return tuple(share for each in (*linked, zones.get(0, [])) for share in each)
