"""What is told of differences between log and cluster: each once when it comes, and once when it is gone."""

from collections.abc import Iterator

from events.catalogue import Decision
from events.device import AllocationStale, DriftDetected, DriftResolved
from events.event import Millis
from projections.card_care import OVERDUE, Suspect
from projections.devices.drift import NOTES, card_findings
from projections.world import World


def differences(world: World) -> Iterator[Decision]:
    """Look at every card that something happened to, and tell what has come and what has gone."""
    for card in sorted(world.cards.stirred):
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


def stale_allocations(world: World, at: Millis) -> Iterator[Decision]:
    """Pods that should have let go of their cards by now. They keep them on the books until they are proven gone."""
    suspects = dict(world.cards.care.suspects)
    for key in _on_lost_nodes(world) - suspects.keys():
        suspects[key] = Suspect(node=world.cards.pods[key].node, since=at - OVERDUE, why="its node is gone")
    for key in sorted(suspects.keys() - world.cards.care.stale.keys()):
        suspect, hold = suspects[key], world.cards.pods.get(key)
        if hold is not None and hold.use and suspect.since + OVERDUE <= at:
            yield AllocationStale(
                node=hold.node, pod=key, cards=tuple(hold.use), since=suspect.since, message=suspect.why
            )


def _on_lost_nodes(world: World) -> set[str]:
    """Pods that hold cards which were stirred, on nodes that are gone."""
    return {
        key
        for card in world.cards.stirred
        for owner in world.cards.stakes.get(card, ())
        for key in world.cards.living.get(owner, ())
        if world.cards.pods[key].node not in world.nodes
    }
