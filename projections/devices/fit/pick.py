"""Taking cards for one request: the walk over a sorted list, and the choice among more cards than are asked for.

Cards are tried from the last to the first; each that does not serve is counted under its reason
(docs/rules/devices.md#card-checks).
"""

from collections.abc import Sequence, Set

import msgspec

from events.card import Card, CardRequest, CardShare
from projections.devices.annotations.terms import Terms
from projections.devices.card_use import CardState, CardUse
from projections.devices.fit import card_checks
from projections.devices.fit.card_checks import cores_asked, cores_counted, memory_asked
from projections.devices.fit.container_fit import ContainerFit
from projections.devices.fit.metax_sharing import marks_of, refuses_sharing
from projections.devices.fit.mig import candidate, named, spans_of
from projections.devices.fit.pair_scores import PairScores, best_together
from projections.devices.fit.pick_kunlun import pick_kunlun
from projections.devices.fit.pick_metax import pick_metax
from projections.devices.fit.pick_neighbours import pick_neighbours
from projections.devices.fit.pod_count import PodCount
from projections.devices.fit.slices import NoShare, chosen, slice_share
from projections.devices.namespace_quota import NO_QUOTA
from projections.devices.vendors.table import BOARD, DIE, STRATEGY
from projections.devices.vendors.vendor import Picking, Vendor

MIG_MODE = "mig"


class _Walk:
    """The shares and refusals found so far on one walk over the cards."""

    def __init__(self, terms: Terms, before: PodCount, *, all_of_them: bool) -> None:
        self.vendor, self.before = terms.vendor, before
        self.taken = before
        self.adds_up = terms.room != NO_QUOTA and (terms.topology or not all_of_them)
        """Whether what is found counts for what is looked at next: HAMi has it so also where links decide later."""
        self.numa: int | None = None
        self.shares: list[CardShare] = []
        self.states: list[CardState] = []
        self.refusals: dict[str, int] = {}

    def refuse(self, why: str, times: int = 1) -> None:
        self.refusals[why] = self.refusals.get(why, 0) + times

    def enter_numa(self, numa: int, *, count: bool) -> None:
        """Cards of one request lie on one NUMA node: on a new one the search starts over."""
        if numa == self.numa:
            return
        if self.shares and count:
            self.refuse(card_checks.WRONG_NUMA, len(self.shares))
        self.numa, self.taken = numa, self.before
        self.shares.clear()
        self.states.clear()

    def take(self, share: CardShare, state: CardState) -> None:
        self.shares.append(share)
        self.states.append(state)
        if self.adds_up:
            self.taken = self.taken.plus(share.uuid, counted(share, state.card, self.vendor))


def pick_cards(
    states: Sequence[CardState],
    request: CardRequest,
    terms: Terms,
    *,
    before: PodCount,
    pair_scores: PairScores,
    soft_node: bool,
    held: Set[str],
) -> ContainerFit:
    """Take cards for one request from the end of the list.

    `before` is what the pod counts in the limits of its namespace already, `held` are the cards on which it has something already;
    `soft_node` says that the node splits by software.
    """
    rules = terms.vendor.rules
    if rules.picking is Picking.BOARDS:
        return pick_kunlun(states, request, terms)
    if request.vendor != terms.vendor.word:
        refused = {card_checks.WRONG_MODEL: len(states)} if states else {}
        return ContainerFit(picked=(), complete=False, refusals=refused, cards=len(states))
    if rules.picking is Picking.RUNS and request.count > 1:
        return pick_neighbours(states, request)
    all_of_them = _wants_all(states, terms)
    walk = _Walk(terms, before, all_of_them=all_of_them)
    enough = 0 if all_of_them else request.count
    occupied = _occupied_boards(states, terms)
    for state in reversed(states):
        why = _never(state, request, terms, walk, soft_node=soft_node)
        if not why and state.card.custom.get(BOARD) in occupied:
            why = card_checks.EXCLUSIVE
        why = why or _take_of(state, request, terms, walk, enough, held)
        if why:
            walk.refuse(why)
        elif enough and len(walk.shares) == enough:
            return ContainerFit(picked=tuple(walk.shares), complete=True, cards=len(states))
    return _outcome(walk, request, terms, pair_scores, len(states))


def _take_of(state: CardState, request: CardRequest, terms: Terms, walk: _Walk, enough: int, held: Set[str]) -> str:
    """Take shares of the card, several where it is cut by MIG, until there are enough; returns why it gives no more."""
    while True:
        share = _share(state, request, terms, walk.taken)
        if isinstance(share, NoShare):
            return share.why
        if terms.vendor.rules.one_card and held - {state.card.uuid}:
            return card_checks.OTHER_CARD
        walk.take(share, state)
        if share.instance is None or (enough and len(walk.shares) == enough):
            return ""
        state = state.holding(CardUse(instances=(share.instance,)))


def _occupied_boards(states: Sequence[CardState], terms: Terms) -> frozenset[int | str]:
    """The boards of which any die is in use, where a pod wants a board for itself."""
    if not (terms.mutex and terms.vendor.rules.dies and _dies(states)):
        return frozenset()
    return frozenset(state.card.custom[BOARD] for state in states if state.use.slots and BOARD in state.card.custom)


def counted(share: CardShare, card: Card, vendor: Vendor) -> CardUse:
    """What a share counts in the limits of its namespace."""
    return CardUse(memory=share.memory, cores=cores_counted(card, vendor, share.cores))


def settled(state: CardState, share: CardShare) -> CardShare:
    """The share as it is charged: a piece of a MIG card counts with the memory and cores of its profile."""
    if share.instance is None:
        return share
    profile = named(state.card.profiles, share.instance.profile)
    if profile is None:
        return share
    return msgspec.structs.replace(share, memory=profile.memory, cores=profile.cores)


def _wants_all(states: Sequence[CardState], terms: Terms) -> bool:
    """Whether all fitting cards are collected before any is chosen."""
    rules = terms.vendor.rules
    return terms.topology or rules.pairs or rules.picking is Picking.ZONES or _grouped(states, terms)


def _grouped(states: Sequence[CardState], terms: Terms) -> bool:
    """Whether it counts which cards of the node lie in one group: each has to name its own, dies have to be told as such."""
    rules = terms.vendor.rules
    if rules.dies:
        return _dies(states)
    return bool(rules.groups) and all(rules.groups in state.card.custom for state in states)


def _dies(states: Sequence[CardState]) -> bool:
    return bool(states) and states[0].card.custom.get(STRATEGY) == DIE


def _never(state: CardState, request: CardRequest, terms: Terms, walk: _Walk, *, soft_node: bool) -> str:
    rules = terms.vendor.rules
    if rules.profiles and chosen(request, state.card) is None:
        return card_checks.WRONG_MODE
    why = card_checks.refuses_card(state, terms)
    if why:
        return card_checks.UNHEALTHY if why == card_checks.NOT_HEALTHY and rules.classes else why
    if rules.soft_split and card_checks.mode_differs(terms, soft_node=soft_node):
        return card_checks.WRONG_MODE
    if terms.numa_bind and rules.numa:
        walk.enter_numa(state.card.numa, count=not terms.topology)
    why = refuses_sharing(state, request, terms) if rules.classes else ""
    return why or card_checks.refuses_now(state, terms)


def _share(state: CardState, request: CardRequest, terms: Terms, taken: PodCount) -> CardShare | NoShare:
    card, vendor = state.card, terms.vendor
    if vendor.rules.profiles:
        part = slice_share(state, request)
        over = isinstance(part, CardShare) and _is_over_quota(card, terms, taken, part.memory, part.cores)
        return NoShare(card_checks.OVER_QUOTA) if over else part
    memory, cores = memory_asked(request, card, vendor), cores_asked(request, state, terms)
    if _is_over_quota(card, terms, taken, memory, cores):
        return NoShare(card_checks.OVER_QUOTA)
    why = card_checks.lacks(state, terms, memory, cores)
    if why:
        return NoShare(why)
    instance = None
    if vendor.rules.mig and card.mode == MIG_MODE:
        found = candidate(card.profiles, memory, spans_of(state.use.instances))
        if found is None or len(state.use.instances) >= card.slots:
            return NoShare(card_checks.NO_PIECE)
        instance = found[1]
    word = card.model if vendor.keeps_model else vendor.word
    return CardShare(
        uuid=card.uuid,
        vendor=word,
        memory=memory,
        cores=cores,
        index=card.index,
        instance=instance,
        custom=marks_of(state, terms, cores)
        | {name: value for name, value in card.custom.items() if name in (vendor.rules.groups, STRATEGY)},
    )


def _is_over_quota(card: Card, terms: Terms, taken: PodCount, memory: int, cores: int) -> bool:
    """Whether the limits of a namespace do not hold so much of a card beside what is taken already."""
    if terms.room == NO_QUOTA:
        return False
    use = CardUse(memory=memory, cores=cores_counted(card, terms.vendor, cores))
    total = taken.plus(card.uuid, use).total
    return not terms.room.holds(total.memory, total.cores)


def _outcome(walk: _Walk, request: CardRequest, terms: Terms, pair_scores: PairScores, cards: int) -> ContainerFit:
    picked = tuple(walk.shares)
    if terms.vendor.rules.picking is Picking.ZONES:
        return pick_metax(walk.shares, walk.states, request, terms, walk.refusals, cards)
    if len(picked) >= request.count:
        if terms.vendor.rules.pairs:
            paired = _in_pairs(picked) if request.count > 1 else picked
            if len(paired) >= request.count:
                return ContainerFit(picked=tuple(paired[: request.count]), complete=True, cards=cards)
            refusals = {card_checks.TOO_FEW: len(paired)}
            return ContainerFit(picked=picked, complete=False, refusals=refusals, cards=request.count)
        if terms.topology:
            places = best_together([share.uuid for share in picked], request.count, pair_scores)
            return ContainerFit(picked=tuple(picked[place] for place in places), complete=True, cards=cards)
        return ContainerFit(
            picked=_in_groups(picked, request.count, terms.vendor.rules.groups), complete=True, cards=cards
        )
    if picked:
        walk.refuse(card_checks.TOO_FEW, len(picked))
    return ContainerFit(picked=picked, complete=False, refusals=walk.refusals, cards=cards)


def _in_pairs(shares: Sequence[CardShare]) -> tuple[CardShare, ...]:
    """Those whose neighbour on the same board was found too, boards in the order found.

    Rule: docs/rules/devices.md#card-checks
    """
    boards: dict[int, list[CardShare]] = {}
    for share in shares:
        boards.setdefault(share.index // 2, []).append(share)
    return tuple(share for board in boards.values() if len(board) == len(("left", "right")) for share in board)


def _in_groups(shares: Sequence[CardShare], count: int, group: str) -> tuple[CardShare, ...]:
    """Cards from as few groups as possible: the largest group first; one card alone is the first that serves."""
    if count == 1:
        return tuple(shares[:1])
    groups: dict[int | str, list[CardShare]] = {}
    for share in shares:
        groups.setdefault(share.custom.get(group, 0), []).append(share)
    ordered = sorted(groups.values(), key=len, reverse=True)
    return tuple([share for each in ordered for share in each][:count])
