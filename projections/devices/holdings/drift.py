"""Drift: where the log, HAMi's annotations and the pods that exist disagree about cards.

The log says what is reserved, the annotations say what pods were given, the pods say what is alive. Each card is asked
about alone, so that only cards that something happened to have to be looked at again.
"""

from collections.abc import Iterator, Mapping

import msgspec

from events.card import Card
from events.device import DevicesRegistered, DriftKind, NodeObserved, PodObserved
from projections.devices.card_use import IDLE, CardUse, whole_of
from projections.devices.holdings.card_holdings import TERMINAL, CardHoldings
from projections.devices.holdings.card_stakes import POD, Stake, exceeds

NOTES = frozenset({DriftKind.VACANT})
"""Kinds that occur for a moment with any healthy job: shown on request, never recorded on the log."""
UNRECORDED = NOTES | {DriftKind.REGISTERED_TWICE}
"""Kinds that the log has no words for: services of an older version could not read them."""


class Drift(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One difference about one card; the holder is a workload, `pod:namespace/name`, or empty for all of them."""

    node: str
    card: str
    kind: DriftKind
    holder: str
    message: str


def card_findings(cards: CardHoldings, nodes: Mapping[str, NodeObserved], uuid: str) -> list[Drift]:
    """Every drift of one card, in a fixed order."""
    stakes = cards.stakes.get(uuid, {})
    homes = cards.homes.get(uuid, ())
    if not homes:
        return sorted(_unregistered(cards, uuid, stakes))
    found: list[Drift] = []
    for node in homes:
        card = next(each for each in cards.nodes[node].cards if each.uuid == uuid)
        found.extend(_on_node(cards, nodes, node, card, stakes))
        if others := [home for home in homes if home != node]:
            told = f"{', '.join(others)} registers it, too: what is taken of it counts on each, and each offers it"
            found.append(_finding(DriftKind.REGISTERED_TWICE, node, uuid, "", told))
    return sorted(found)


def _on_node(
    cards: CardHoldings, nodes: Mapping[str, NodeObserved], node: str, card: Card, stakes: Mapping[str, Stake]
) -> Iterator[Drift]:
    seen = nodes.get(node)
    for holder, stake in stakes.items():
        charged, reserved = _words(stake.charged()), _words(stake.reserved)
        if seen is None or not seen.ready:
            state = "gone" if seen is None else "not ready"
            yield _finding(DriftKind.NODE_LOST, node, card.uuid, holder, f"holds {charged}, and the node is {state}")
        elif not cards.in_service(node, card):
            why = why_out_of_service(cards, cards.nodes[node], card)
            yield _finding(DriftKind.UNHEALTHY, node, card.uuid, holder, f"holds {charged}, and the card is {why}")
        if holder.startswith(POD):
            yield _finding(
                DriftKind.UNMANAGED,
                node,
                card.uuid,
                holder,
                f"holds {charged}, and no queue manages it: quota believes that to be free",
            )
        elif exceeds(stake.held, stake.reserved):
            held = _words(stake.held)
            yield _finding(
                DriftKind.UNRESERVED, node, card.uuid, holder, f"holds {held}, and the log has reserved {reserved}"
            )
        elif stake.held == IDLE and cards.living.get(holder):
            yield _finding(DriftKind.VACANT, node, card.uuid, holder, f"has {reserved} reserved, and no pod holds it")
    used = cards.used.get(card.uuid, IDLE)
    if exceeds(used, whole_of(card)):
        whole = _words(whole_of(card))
        who = ", ".join(sorted(stakes))
        yield _finding(DriftKind.OVERFULL, node, card.uuid, "", f"{_words(used)} is taken of {whole} by {who}")


def _unregistered(cards: CardHoldings, uuid: str, stakes: Mapping[str, Stake]) -> Iterator[Drift]:
    for holder, stake in stakes.items():
        node = _node_of(cards, holder, uuid)
        message = f"holds {_words(stake.charged())}, and no node registers the card"
        yield _finding(DriftKind.UNREGISTERED, node, uuid, holder, message)


def pods_without_word(pods: Mapping[str, PodObserved]) -> list[Drift]:
    """Pods that ask for cards and run, although HAMi has not written which they got."""
    return [
        _finding(
            DriftKind.UNWRITTEN,
            pod.node,
            "",
            pod.workload or POD + key,
            f"pod {key} runs and asks for cards, and HAMi has not written which it got",
        )
        for key, pod in sorted(pods.items())
        if pod.node
        and not pod.cardless
        and pod.phase not in TERMINAL
        and pod.phase != "Pending"
        and not any(pod.shares)
    ]


def stale_pods(cards: CardHoldings) -> list[Drift]:
    """Pods that were reported to hold cards beyond their time (`AllocationStale`), and still do."""
    return [
        _finding(DriftKind.STALE, suspect.node, uuid, cards.pods[key].owner, f"pod {key}: {suspect.why}")
        for key, suspect in sorted(cards.care.stale.items())
        if key in cards.pods
        for uuid in sorted(cards.pods[key].use)
    ]


def all_findings(
    cards: CardHoldings, nodes: Mapping[str, NodeObserved], pods: Mapping[str, PodObserved]
) -> list[Drift]:
    """Every drift of all cards, by node, card and kind."""
    by_card = [
        finding for uuid in sorted({*cards.homes, *cards.stakes}) for finding in card_findings(cards, nodes, uuid)
    ]
    return sorted([*by_card, *pods_without_word(pods), *stale_pods(cards)])


def why_out_of_service(cards: CardHoldings, registered: DevicesRegistered, card: Card) -> str:
    """Why new pods are kept from a card, cordons aside; empty if they are not."""
    if not card.healthy:
        return "reported unhealthy"
    if f"{registered.node}/{card.vendor}" in cards.care.lost:
        return f"out of service: the {card.vendor} plugin is silent"
    known = cards.care.health.get(card.uuid)
    if known is not None and known.out:
        return "reported healthy again and not trusted yet"
    return "" if cards.in_service(registered.node, card) else "cut into pieces that nobody tells of"


def _node_of(cards: CardHoldings, holder: str, uuid: str) -> str:
    for key in sorted(cards.living.get(holder, ())):
        if uuid in cards.pods[key].use:
            return cards.pods[key].node
    return next(
        (
            placement.node
            for holding in cards.attempts_of(holder)
            for placement in holding.placements
            for shares in placement.containers
            for share in shares
            if share.uuid == uuid
        ),
        "",
    )


def _finding(kind: DriftKind, node: str, card: str, holder: str, message: str) -> Drift:
    return Drift(node=node, card=card, kind=kind, holder=holder, message=message)


def _words(use: CardUse) -> str:
    if use == IDLE:
        return "nothing"
    return f"{use.memory} MiB, {use.cores} cores, {use.slots} slot(s)"
