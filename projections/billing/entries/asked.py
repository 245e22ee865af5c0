"""What pods asked of each card that they were given, before it was rounded to what cards are cut into."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from events.card import Card, CardRequest, CardShare
from events.device import PodPlacement
from projections.billing.entries.attempts import About
from projections.devices.card_config import CardConfig
from projections.devices.card_use import CardUse, effective_use
from projections.devices.fit.card_checks import memory_asked
from projections.devices.requests.card_requests import pod_card_requests
from projections.devices.vendors.vendor import Reading

_NO_MIB = frozenset({Reading.PROFILES, Reading.NEURON})
"""Requests that count slices of a card, or its cores."""
AskedKey = tuple[str, int, str]
"""Pod set, index of the pod in it, card UUID."""


def asked_of_cards(
    placements: Sequence[PodPlacement], about: About | None, config: CardConfig, card_of: Callable[[str], Card]
) -> dict[AskedKey, CardUse]:
    """MiB and percent of cores; a percentage of memory as it comes to MiB of that card. Nothing where it is not known."""
    sets = {one.name: pod_card_requests(one.shape, config) for one in (about.pod_sets if about is not None else ())}
    found: dict[AskedKey, CardUse] = {}
    for placement in placements:
        asked = sets.get(placement.pod_set)
        if asked is None or len(asked.containers) != len(placement.containers):
            continue
        unknown = set[str]()
        containers: list[tuple[CardShare, ...]] = []
        for shares, requests in zip(placement.containers, asked.containers, strict=True):
            by_share = [(share, _asked(share, requests, config, card_of(share.uuid))) for share in shares]
            unknown |= {share.uuid for share, wanted in by_share if wanted is None}
            containers.append(tuple(wanted or share for share, wanted in by_share))
        uses = effective_use(containers, placement.init, sidecars=placement.sidecars)
        found |= {(placement.pod_set, placement.index, uuid): use for uuid, use in uses.items() if uuid not in unknown}
    return found


def _asked(share: CardShare, requests: Sequence[CardRequest], config: CardConfig, card: Card) -> CardShare | None:
    vendor = config.by_word.get(share.vendor)
    request = next((one for one in requests if one.vendor == share.vendor), None)
    if vendor is None or request is None or vendor.reading in _NO_MIB:
        return None
    return replace(share, memory=memory_asked(request, card, vendor), cores=request.cores)
