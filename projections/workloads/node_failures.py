"""Workloads that run where nothing can run any more: their node is lost, or a card that they were given has failed or is gone.

The rule is in docs/rules/eviction.md#node-failures: who ran on a node that is gone has to go; on one that is not
ready, who has no pod left there that goes on.
"""

from collections.abc import Iterable, Mapping

from events.device import PodObserved
from projections.devices.annotations import vendor_word
from projections.devices.card_holdings import CardHoldings
from projections.devices.vendor import Encoding
from projections.devices.vendors import BY_WORD
from projections.feature_gates import enabled
from projections.work_queue import WorkQueue
from projections.workloads.lifecycle import Workload
from projections.workloads.second_pass import failed_nodes
from projections.world import World


def lost_place(world: World, workload: Workload) -> str:
    """What a workload has lost of the cards that it was given, as the message of its eviction; empty when nothing."""
    unplaced = failed_nodes(workload) if workload.second_pass.failures else ()
    if unplaced and enabled(world.settings, "TASFailedNodeReplacementFailFast"):
        return f"Workload was evicted as there was no replacement for unhealthy node(s): {','.join(unplaced)}"
    if workload.devices is None or not workload.devices.placements:
        return ""
    nodes = sorted({one.node for one in workload.devices.placements})
    lost = [node for node in nodes if _lost(world, workload, node)]
    if lost:
        return f"Workload was evicted as there was no replacement for unhealthy node(s): {','.join(lost)}"
    failed = sorted(set(_failed_cards(world, workload)))
    return f"Workload was evicted as there was no replacement for failed card(s): {','.join(failed)}" if failed else ""


def review_places(cards: CardHoldings, work: WorkQueue, node: str) -> None:
    """Have those looked at that were given cards of a node: something happened to it."""
    for holding in cards.holdings.values():
        if any(one.node == node for one in holding.placements):
            work.mark_dirty(holding.workload)


def review_owner(world: World, pod: str) -> None:
    """Have the workload looked at whose pod is gone."""
    gone = world.pods.get(pod)
    if gone is not None and gone.workload in world.workloads:
        world.work.mark_dirty(gone.workload)


def _lost(world: World, workload: Workload, node: str) -> bool:
    known = world.nodes.get(node)
    if known is None:
        return bool(world.nodes)  # Where no node was ever reported, none was lost.
    return not known.ready and not _goes_on(world.cards, world.pods, workload, node)


def _goes_on(cards: CardHoldings, pods: Mapping[str, PodObserved], workload: Workload, node: str) -> bool:
    """Whether some pod of it is on the node and is not being deleted."""
    for key in cards.living.get(workload.key, ()):
        pod = pods.get(key)
        if pod is not None and pod.node == node and not pod.terminating:
            return True
    return False


def _failed_cards(world: World, workload: Workload) -> Iterable[str]:
    """Cards that are reported as failed, and those that their node no longer registers beside others of the vendor.

    A node that registers none of a vendor's cards says nothing about them, as HAMi takes it
    (docs/rules/eviction.md#failed-cards): a plugin that is replaced leaves what runs alone. Cards that are only counted
    have no UUIDs of their own: when there are fewer, it is not known which are gone.
    """
    for placement in workload.devices.placements if workload.devices is not None else ():
        registered = world.cards.nodes.get(placement.node)
        cards = {card.uuid: card for card in registered.cards} if registered is not None else {}
        named = {card.vendor for card in cards.values() if _has_uuids(card.vendor)}
        for share in (share for shares in placement.containers for share in shares):
            card = cards.get(share.uuid)
            if not card.healthy if card is not None else vendor_word(share) in named:
                yield share.uuid


def _has_uuids(word: str) -> bool:
    vendor = BY_WORD.get(word)
    return vendor is not None and vendor.encoding is not Encoding.CAPACITY
