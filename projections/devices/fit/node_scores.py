"""What the cards that a pod would get add to its node's score, by the vendor's own rule.

Rule: docs/rules/devices.md#ranking
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import msgspec

from events.card import WHOLE_CARD, CardShare
from projections.devices.annotations.steering import SPREAD, least_first
from projections.devices.annotations.terms import CLASS, OFFLINE, ONLINE
from projections.devices.card_use import CardState
from projections.devices.fit.kunlun_boards import wholeness
from projections.devices.vendors.chip_families import NETWORK
from projections.devices.vendors.table import BOARD, DIE, STRATEGY, ZONE
from projections.devices.vendors.vendor import NodeScoring, Vendor, serves

LOSSES, SCORES = "metax-tech.com/gpu.topology.losses", "metax-tech.com/gpu.topology.scores"
_FULL, _MOST, _LINK = 10, 2000, 10
_BESIDE_ONLINE, _BESIDE_OFFLINE, _SUSPENDING = 20, 2, 100
_WEIGHT = 10000
"""How much linked cards weigh beside everything else."""

Containers = Sequence[Sequence[CardShare]]


def vendor_score(
    vendor: Vendor, containers: Containers, before: Sequence[CardState], annotations: Mapping[str, str], policy: str
) -> Fraction:
    """The score by the vendor's rule; `before` are the node's cards as they are without the pod."""
    match vendor.rules.scoring:
        case NodeScoring.NOTHING:
            return Fraction(0)
        case NodeScoring.NETWORK:
            return _FULL * _together(containers, NETWORK)
        case NodeScoring.DIES:
            return _dies(containers)
        case NodeScoring.BOARDS:
            return _boards(vendor, containers, before)
        case NodeScoring.LOSSES:
            return _losses(containers, annotations, policy)
        case NodeScoring.LINKS:
            return Fraction(_company(containers, before) if _online(containers) else _links(containers, before))


def weighted(vendor: Vendor, score: Fraction, policy: str) -> Fraction:
    """The score as it counts beside the node's own: what is better has to win under both policies."""
    if vendor.rules.scoring is not NodeScoring.LINKS:
        return score
    return -least_first(policy, _WEIGHT * score)


def _dies(containers: Containers) -> Fraction:
    if any(share.custom.get(STRATEGY, DIE) != DIE for shares in containers for share in shares):
        return Fraction(0)
    return _together(containers, BOARD)


def _together(containers: Containers, group: str) -> Fraction:
    """Over all containers, the part of each one's cards that lie in one group; nothing where any card names none."""
    if any(group not in share.custom for shares in containers for share in shares):
        return Fraction(0)
    return sum(
        (
            Fraction(max(Counter(share.custom[group] for share in shares).values()), len(shares))
            for shares in containers
            if shares
        ),
        Fraction(0),
    )


def _boards(vendor: Vendor, containers: Containers, before: Sequence[CardState]) -> Fraction:
    shares = [share for container in containers for share in container]
    if not all(serves(vendor, state.card.model) for state in before):
        return Fraction(0)
    used = {state.card.index for state in before if state.use.slots}
    return Fraction(wholeness(used, {share.index for share in shares}))


def _losses(containers: Containers, annotations: Mapping[str, str], policy: str) -> Fraction:
    """The most, less what the node's annotation tells of so many cards; nothing where it has no annotation."""
    count = str(sum(len(shares) for shares in containers))
    text = annotations.get(SCORES if policy == SPREAD else LOSSES)
    if text is None:
        return Fraction(0)
    try:
        told = msgspec.json.decode(text, type=dict[str, int]).get(count, 0)
    except msgspec.MsgspecError:
        told = 0
    return Fraction(_MOST - told)


def _online(containers: Containers) -> bool:
    return any(share.custom.get(CLASS) == ONLINE for container in containers for share in container)


def _company(containers: Containers, before: Sequence[CardState]) -> int:
    """What the work that is on the cards already takes off the score: most where all of it is offline, and would be suspended."""
    chosen = {share.uuid for container in containers for share in container}
    score = 0
    for state in before:
        if state.card.uuid in chosen:
            online, offline = state.tenants.count(ONLINE), state.tenants.count(OFFLINE)
            score -= _BESIDE_ONLINE * online + (_BESIDE_OFFLINE if online else _SUSPENDING) * offline
    return score


def _links(containers: Containers, before: Sequence[CardState]) -> int:
    """Ten times the links among whole cards that are given, less the links that are broken by it."""
    given = {
        share.uuid: share.custom[ZONE]
        for container in containers
        for share in container
        if share.cores == WHOLE_CARD and ZONE in share.custom
    }
    if not given:
        return 0
    idle = {state.card.uuid: state.card.custom.get(ZONE, 0) for state in before if not state.use.slots}
    kept = {uuid: zone for uuid, zone in idle.items() if uuid not in given}
    own = _linked(given.values())
    return _FULL * own - (_linked(idle.values()) - own - _linked(kept.values()))


def _linked(zones: Iterable[int | str]) -> int:
    return sum(_LINK for left, right in combinations(zones, 2) if left and left == right)
