"""Whether all pods of a workload find cards, all or nothing, and where (docs/rules/devices.md#gang).

Nodes are tried from the best by score; the first that fits is the best that fits. While pods of one shape are placed,
cards only fill up, so a node that does not fit one of them is not looked at again.

Containers of one pod are placed one after the other, as HAMi does it, and so the first may take what only the second
could have used; the same holds for pod sets. Where that may have happened, pods that name no card policy are tried
again under binpack, which their annotation then has HAMi use, and pod sets with the largest request first.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from events.card import CardRequest
from events.device import NodeObserved, PodPlacement
from events.pod_set import PodSet
from events.quota import FlavorObserved
from projections.devices.annotations.allocated_cards import CARD_POLICY, NODE_POLICY
from projections.devices.annotations.steering import BINPACK, SPREAD, least_first
from projections.devices.card_config import HAMI, CardConfig
from projections.devices.fit.card_checks import OVER_QUOTA
from projections.devices.fit.node_summary import may_hold
from projections.devices.fit.pod_fit import Asking, asking, fit_asking
from projections.devices.holdings.card_holdings import CardHoldings
from projections.devices.holdings.namespace_cards import emptied, limits_of, with_placements
from projections.devices.namespace_quota import Limits, lets_in
from projections.devices.placement.ranking import rank
from projections.devices.placement.refusal import asked_text, barred, refusal
from projections.devices.placement.suitability import NodeSuitability
from projections.devices.requests.card_requests import PodCardRequests, pod_card_requests
from projections.devices.vendors.vendor import NodeScoring
from projections.trail import Trail

EXCEEDS_CARDS = "ExceedsCardCapacity"
"""No card could hold it even if nothing ran."""
WAITING_FOR_CARDS = "WaitingForDevices"
"""It would fit if others gave cards back."""

_BEYOND = 1 << 20
"""Makes any percentage of a card count for more than any amount that is named."""

NOT_EVEN_IDLE = "; the cards that are there would not do for all of its pods even if nothing ran"

Containers = Sequence[Sequence[CardRequest]]


class Gang(msgspec.Struct, frozen=True, kw_only=True):
    """So many pods of a set, to be placed on nodes of one flavor (of any, where there is none)."""

    pod_set: PodSet
    count: int
    flavor: FlavorObserved | None
    namespace: str = ""
    config: CardConfig = HAMI
    """By which names cards are asked for, and how they are chosen where the pod does not say."""

    @property
    def node_policy(self) -> str:
        """By which policy its nodes are chosen."""
        return self.pod_set.shape.device_annotations.get(NODE_POLICY, self.config.node_policy)

    @property
    def other_card_policy(self) -> str:
        """The card policy beside the one that holds where a pod names none."""
        return SPREAD if self.config.card_policy == BINPACK else BINPACK

    def tried_alone(self, containers: Containers) -> tuple[str, ...]:
        """The card policies to try where nobody else is placed with it; empty stands for its own, or HAMi's default.

        Another policy is tried where several containers ask for cards: the first may take what only the second could have used.
        """
        several = sum(bool(requests) for requests in containers) > 1
        return ("", self.other_card_policy) if several else ("",)

    def left_open(self, policies: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the card policies that its pods leave open."""
        return ("",) if CARD_POLICY in self.pod_set.shape.device_annotations else policies


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """Where every pod goes, or for which pod set and why there is no place."""

    placements: tuple[PodPlacement, ...] = ()
    pod_set: str = ""
    reason: str = ""
    message: str = ""


def place(cards: CardHoldings, nodes: Mapping[str, NodeObserved], gangs: Sequence[Gang], trail: Trail) -> Placed:
    """Place all pods on a trial ledger, which is as it was afterwards.

    The reason of a failure is that of the first try: pod sets in the workload's order, each under its own policy.
    """
    asked = [_asked(gang) for gang in gangs]
    asked = [one for one in asked if any(one.each.containers)]
    if not asked:
        return Placed()
    refused: list[Placed] = []
    for line, policies in _tries(asked):
        placements: list[PodPlacement] = []
        with trail.trial():
            placed = all(_place_gang(cards, nodes, one, policies, placements, trail, refused) for one in line)
        if placed:
            order = {gang.pod_set.name: number for number, gang in enumerate(gangs)}
            return Placed(placements=tuple(sorted(placements, key=lambda each: (order[each.pod_set], each.index))))
    return refused[0]


def place_or_tell(
    cards: CardHoldings, nodes: Mapping[str, NodeObserved], gangs: Sequence[Gang], trail: Trail
) -> Placed:
    """The same, and whose pods could not have cards all together even if nothing ran is told so.

    The reason stays what it is: cards that are out of service, or whose node is away, are not there for the moment.
    """
    placed = place(cards, nodes, gangs, trail)
    if placed.reason != WAITING_FOR_CARDS or sum(gang.count for gang in gangs) <= 1:
        return placed
    with trail.trial():
        cards.empty()
        ever = not place(cards, nodes, gangs, trail).reason
    return placed if ever else msgspec.structs.replace(placed, message=placed.message + NOT_EVEN_IDLE)


class _Asked(msgspec.Struct, frozen=True):
    """A gang with what the containers of one of its pods ask for."""

    gang: Gang
    each: PodCardRequests


def _asked(gang: Gang) -> _Asked:
    return _Asked(gang, pod_card_requests(gang.pod_set.shape, gang.config))


def _tries(asked: Sequence[_Asked]) -> Iterator[tuple[Sequence[_Asked], tuple[str, ...]]]:
    """In which order to place the pod sets, and under which card policies to try each."""
    if len(asked) == 1:
        yield asked, asked[0].gang.tried_alone(asked[0].each.containers)
        return
    other = asked[0].gang.other_card_policy
    by_size = sorted(asked, key=lambda one: _largest_request(one.each.containers), reverse=True)
    yield asked, ("", other)
    yield by_size, ("", other)
    yield asked, (other, "")
    yield by_size, (other, "")


def _largest_request(requests: Containers) -> tuple[int, int, int]:
    return max(
        (
            (each.count, each.memory or (each.percent or 0) * _BEYOND, each.cores)
            for asked in requests
            for each in asked
        ),
        default=(0, 0, 0),
    )


def largest_request(gang: Gang) -> tuple[int, int, int]:
    """The largest that a container of the gang asks for: cards, memory, cores."""
    return _largest_request(_asked(gang).each.containers)


def suits(node: NodeObserved, gang: Gang) -> bool:
    """Whether pods of the gang may go to a node: ready, labels of the flavor, selector, affinity, taints."""
    return NodeSuitability(gang.pod_set.shape, gang.flavor).allows(node)


def _place_gang(
    cards: CardHoldings,
    nodes: Mapping[str, NodeObserved],
    asked: _Asked,
    policies: tuple[str, ...],
    placements: list[PodPlacement],
    trail: Trail,
    refused: list[Placed],
) -> bool:
    """Place all pods of a gang under the first card policy that allows it; the cards stay charged.

    The first refusal of all is put into words, while the pods before it are still charged.
    """
    for policy in asked.gang.left_open(policies):
        before = len(placements)
        with trail.trial() as trial:
            index = _place_under(cards, nodes, asked, policy, placements)
            if index is None:
                trial.keep()
                return True
            if not refused:
                refused.append(_refused(cards, nodes, asked, index, placements))
        del placements[before:]
    return False


def _place_under(
    cards: CardHoldings,
    nodes: Mapping[str, NodeObserved],
    asked: _Asked,
    policy: str,
    placements: list[PodPlacement],
) -> int | None:
    """Place all pods of a gang under one card policy; the first that finds no place, None if all do."""
    gang = asked.gang
    limits = limits_of(cards, gang.namespace, gang.config.resources)
    pod = _pod(asked, policy, limits)
    if any(terms.vendor.rules.scoring is not NodeScoring.NOTHING for terms in pod.terms.values()):
        return _place_ranked(cards, nodes, asked, policy, limits, placements)
    line = [
        (least_first(gang.node_policy, found.fullness), name)
        for name in _suitable(cards, nodes, gang)
        for found in (cards.summary_of(name),)
        if may_hold(found, asked.each.containers)
    ]
    heapq.heapify(line)
    for index in range(gang.count):
        if limits:
            now = with_placements(cards, limits, placements, gang.config.resources)
            if not _lets_in(now, asked):
                return index
            pod = _pod(asked, policy, now)
        placement = _place_pod(cards, line, asked, index, pod)
        if placement is None:
            return index
        placements.append(msgspec.structs.replace(placement, policy=policy) if policy else placement)
    return None


def _place_ranked(
    cards: CardHoldings,
    nodes: Mapping[str, NodeObserved],
    asked: _Asked,
    policy: str,
    limits: Limits,
    placements: list[PodPlacement],
) -> int | None:
    """The same where a node's score rests on the cards that it would give: every node is tried for every pod."""
    gang = asked.gang
    wanted = gang.node_policy
    names = [name for name in _suitable(cards, nodes, gang) if may_hold(cards.summary_of(name), asked.each.containers)]
    for index in range(gang.count):
        now = with_placements(cards, limits, placements, gang.config.resources)
        if not _lets_in(now, asked):
            return index
        nodes_cards = (cards.summary_of(name).on for name in names)
        ranking = rank(
            nodes_cards,
            asked.each.containers,
            asked.each.init,
            _pod(asked, policy, now),
            wanted,
            asked.each.sidecars,
        )
        best = ranking.best(wanted)
        if best is None:
            return index
        placement = PodPlacement(
            pod_set=gang.pod_set.name,
            index=index,
            node=best.node,
            containers=best.shares,
            init=asked.each.init,
            sidecars=asked.each.sidecars,
            policy=policy,
        )
        cards.trial((placement,))
        placements.append(placement)
        names = [fit.node for fit in ranking.fits]
    return None


def _place_pod(
    cards: CardHoldings, line: list[tuple[int, str]], asked: _Asked, index: int, pod: Asking
) -> PodPlacement | None:
    """Take the best node that fits; its cards are charged, and it goes back into line with its new score."""
    while line:
        _, name = heapq.heappop(line)
        fit = fit_asking(cards.summary_of(name).on, asked.each.containers, asked.each.init, pod, asked.each.sidecars)
        if fit.shares is None:
            continue
        placement = PodPlacement(
            pod_set=asked.gang.pod_set.name,
            index=index,
            node=name,
            containers=fit.shares,
            init=asked.each.init,
            sidecars=asked.each.sidecars,
        )
        cards.trial((placement,))
        after = cards.summary_of(name).fullness
        heapq.heappush(line, (least_first(asked.gang.node_policy, after), name))
        return placement
    return None


def _refused(
    cards: CardHoldings,
    nodes: Mapping[str, NodeObserved],
    asked: _Asked,
    index: int,
    placements: Sequence[PodPlacement],
) -> Placed:
    """Why a pod finds no place beside what is taken already, in words."""
    gang = asked.gang
    limits = limits_of(cards, gang.namespace, gang.config.resources)
    now = with_placements(cards, limits, placements, gang.config.resources)
    if not _lets_in(now, asked):
        return _over_quota(asked, index, emptied(limits))
    names = sorted(_suitable(cards, nodes, gang))
    refused = None
    if not names:
        refused = barred(cards, nodes, gang.flavor, NodeSuitability(gang.pod_set.shape, gang.flavor), asked.each)
    if refused is None:
        refused = refusal(cards, names, asked.each, _pod(asked, "", now), _pod(asked, "", emptied(limits)))
    where = f"flavor {gang.flavor.name}" if gang.flavor is not None else "any flavor"
    return Placed(
        pod_set=gang.pod_set.name,
        reason=WAITING_FOR_CARDS if refused.for_now else EXCEEDS_CARDS,
        message=f"pod {index + 1} of {gang.count} of pod set {gang.pod_set.name} finds no cards in {where}: {refused.message}",
    )


def _lets_in(limits: Limits, asked: _Asked) -> bool:
    each = asked.each
    return lets_in(limits, each.containers, each.init, asked.gang.config.resources, each.sidecars)


def _over_quota(asked: _Asked, index: int, whole: Limits) -> Placed:
    gang = asked.gang
    ever = _lets_in(whole, asked)
    return Placed(
        pod_set=gang.pod_set.name,
        reason=WAITING_FOR_CARDS if ever else EXCEEDS_CARDS,
        message=over_quota(gang, asked.each.containers, index),
    )


def over_quota(gang: Gang, requests: Containers, index: int) -> str:
    """Why a namespace's limits keep a pod of a gang from any card, in words."""
    return (
        f"pod {index + 1} of {gang.count} of pod set {gang.pod_set.name}: asked {asked_text(requests)}, more than "
        f"the ResourceQuotas of namespace {gang.namespace} leave ({OVER_QUOTA})"
    )


def _suitable(cards: CardHoldings, nodes: Mapping[str, NodeObserved], gang: Gang) -> list[str]:
    suitable = NodeSuitability(gang.pod_set.shape, gang.flavor)
    return [name for name in cards.nodes if name in nodes and suitable.allows(nodes[name])]


def _pod(asked: _Asked, policy: str, limits: Limits) -> Asking:
    own = asked.gang.pod_set.shape.device_annotations
    annotations = {**own, CARD_POLICY: policy} if policy else own
    return asking(
        annotations,
        [request for each in asked.each.containers for request in each],
        default_policy=asked.gang.config.card_policy,
        limits=limits,
        vendors=asked.gang.config.by_word,
    )
