"""Drift between log and cluster: `DriftDetected` once when a difference appears, `DriftResolved` once when it is gone.

Rule: docs/rules/devices.md#books
"""

from collections.abc import Iterator, Mapping
from functools import partial

from events.catalogue import Decision
from events.device import AllocationStale, DriftDetected, DriftResolved, NodeObserved
from events.event import Millis
from projections.devices.holdings.card_care import OVERDUE
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.holdings.drift import UNRECORDED, card_findings
from projections.devices.state import DeviceState
from projections.set_aside.records import Scope
from services.accountant.guarding import each, one
from services.accountant.state import AccountantState


def differences(world: AccountantState, at: Millis) -> Iterator[Decision]:
    """Compare every card that something happened to, and report differences that appeared or are gone."""
    for card in sorted(world.cards.dirty_cards):
        # Where nothing holds the card and no drift of it is open, there is nothing to compare.
        if world.cards.stakes.get(card) or card in world.cards.care.told:
            yield from one(world, Scope.CARD, card, partial(_of_card, world, card, at))
        world.cards.mark_card_done(card)


def overdue(world: AccountantState, at: Millis) -> Iterator[Decision]:
    """Report pods that should have released their cards by now; the cards count as held until the pods are proven gone."""
    care = world.cards.care
    pods = sorted(care.suspects.keys() - care.stale.keys())
    yield from each(world, Scope.POD, pods, lambda pod: _overdue(world.cards, pod, at))


def _of_card(world: DeviceState, card: str, at: Millis) -> list[Decision]:
    found = {
        (one.kind, one.holder, one.node): one
        for one in card_findings(world.cards, world.nodes, card)
        if one.kind not in UNRECORDED
    }
    reported = {(one.kind, one.holder, one.node) for one in world.cards.care.told.get(card, ())}
    gone = [
        DriftResolved(node=node, card=card, kind=kind, holder=holder)
        for kind, holder, node in sorted(reported - found.keys())
    ]
    come = [
        DriftDetected(node=one.node, card=card, kind=one.kind, holder=one.holder, message=one.message)
        for one in (found[key] for key in sorted(found.keys() - reported))
    ]
    return [
        *gone,
        *come,
        *(_stale(world.cards, pod, at, "its node is gone") for pod in _on_lost_nodes(world.nodes, world.cards, card)),
    ]


def _overdue(cards: CardHoldings, pod: str, at: Millis) -> list[Decision]:
    suspect = cards.care.suspects[pod]
    late = pod in cards.pods and cards.pods[pod].use and suspect.since + OVERDUE <= at
    return [_stale(cards, pod, suspect.since, suspect.why)] if late else []


def _on_lost_nodes(nodes: Mapping[str, NodeObserved], cards: CardHoldings, card: str) -> list[str]:
    """Pods that hold the card on a node that is gone, without those reported before."""
    return sorted(
        pod
        for owner in cards.stakes.get(card, ())
        for pod in cards.living.get(owner, ())
        if pod not in cards.care.stale and card in cards.pods[pod].use and cards.pods[pod].node not in nodes
    )


def _stale(cards: CardHoldings, pod: str, since: Millis, why: str) -> Decision:
    hold = cards.pods[pod]
    return AllocationStale(node=hold.node, pod=pod, cards=tuple(hold.use), since=since, message=why)
