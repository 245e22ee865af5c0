"""What is told of differences between log and cluster: each once when it comes, and once when it is gone."""

from collections.abc import Iterator

from events.catalogue import Decision
from events.device import AllocationStale, DriftDetected, DriftResolved
from events.event import Millis
from projections.card_care import OVERDUE
from projections.devices.drift import NOTES, card_findings
from projections.world import World


def differences(world: World, at: Millis) -> Iterator[Decision]:
    """Look once at every card that something happened to, and tell what has come and what has gone."""
    for card in sorted(world.cards.stirred):
        if not world.cards.stakes.get(card) and card not in world.cards.care.told:
            world.cards.looked_at(card)  # Nobody has anything of it, and nothing stands that was told of it.
            continue
        found = {
            (one.kind, one.holder, one.node): one
            for one in card_findings(world.cards, world.nodes, card)
            if one.kind not in NOTES
        }
        told = {(one.kind, one.holder, one.node) for one in world.cards.care.told.get(card, ())}
        for kind, holder, node in sorted(told - found.keys()):
            yield DriftResolved(node=node, card=card, kind=kind, holder=holder)
        for key in sorted(found.keys() - told):
            one = found[key]
            yield DriftDetected(node=one.node, card=card, kind=one.kind, holder=one.holder, message=one.message)
        for pod in _on_lost_nodes(world, card):
            yield _stale(world, pod, at, "its node is gone")
        world.cards.looked_at(card)


def overdue(world: World, at: Millis) -> Iterator[Decision]:
    """Pods that should have let go of their cards by now. They keep them on the books until they are proven gone."""
    care = world.cards.care
    for pod in sorted(care.suspects.keys() - care.stale.keys()):
        suspect = care.suspects[pod]
        if pod in world.cards.pods and world.cards.pods[pod].use and suspect.since + OVERDUE <= at:
            yield _stale(world, pod, suspect.since, suspect.why)


def _on_lost_nodes(world: World, card: str) -> list[str]:
    """Pods that hold the card on a node that is gone, as far as that was not told yet."""
    return sorted(
        pod
        for owner in world.cards.stakes.get(card, ())
        for pod in world.cards.living.get(owner, ())
        if pod not in world.cards.care.stale
        and card in world.cards.pods[pod].use
        and world.cards.pods[pod].node not in world.nodes
    )


def _stale(world: World, pod: str, since: Millis, why: str) -> Decision:
    hold = world.cards.pods[pod]
    return AllocationStale(node=hold.node, pod=pod, cards=tuple(hold.use), since=since, message=why)
