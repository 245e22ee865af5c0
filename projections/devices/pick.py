"""Taking cards for one request: the walk over a sorted list, and the choice among more cards than are asked for.

Cards are tried from the last to the first; each that does not serve is counted under its reason (hami-semantics §5.2).
"""

from collections.abc import Sequence

import msgspec

from events.card import CardRequest, CardShare
from projections.devices import checks
from projections.devices.checks import Terms, cores_asked, memory_asked
from projections.devices.mig import candidate, named, spans_of
from projections.devices.topology import PairScores, best_together
from projections.devices.use import IDLE, CardState, CardUse, use_of

MIG_MODE = "mig"


class ContainerFit(msgspec.Struct, frozen=True, kw_only=True):
    """The shares found for one request; where they are too few, the reasons counted over the cards looked at."""

    picked: tuple[CardShare, ...]
    complete: bool
    refusals: dict[str, int] = {}
    cards: int = 0


class _Walk:
    """What has been found so far on one walk."""

    def __init__(self, before: CardUse) -> None:
        self.before = before
        self.taken = before
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
            self.refuse(checks.WRONG_NUMA, len(self.shares))
        self.numa, self.taken = numa, self.before
        self.shares.clear()
        self.states.clear()

    def take(self, share: CardShare, state: CardState) -> None:
        self.shares.append(share)
        self.states.append(state)
        self.taken = self.taken.plus(use_of(share))


def pick_cards(
    states: Sequence[CardState],
    request: CardRequest,
    terms: Terms,
    *,
    before: CardUse = IDLE,
    pair_scores: PairScores | None = None,
    soft_node: bool = False,
) -> ContainerFit:
    """Take cards for one request from the end of the list.

    `before` is what the pod has taken of the quota already; `soft_node` says that the node splits by software.
    """
    if request.vendor != terms.vendor.word:
        refused = {checks.WRONG_MODEL: len(states)} if states else {}
        return ContainerFit(picked=(), complete=False, refusals=refused, cards=len(states))
    walk = _Walk(before)
    want_all = _wants_all(states, terms)
    for state in reversed(states):
        why = _never(state, terms, walk, soft_node=soft_node)
        while not why:
            share, why = _share(state, request, terms, walk.taken)
            if share is None:
                break
            walk.take(share, state)
            if len(walk.shares) == request.count and not want_all:
                return ContainerFit(picked=tuple(walk.shares), complete=True, cards=len(states))
            if share.instance is None:
                break
            pieces = CardUse(instances=(share.instance,))
            state = CardState(state.card, state.use.plus(pieces), state.cordoned)
        if why:
            walk.refuse(why)
    return _outcome(walk, request, terms, pair_scores or {}, len(states))


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
    grouped = bool(rules.groups) and any(rules.groups in state.card.custom for state in states)
    return terms.topology or rules.pairs or grouped


def _never(state: CardState, terms: Terms, walk: _Walk, *, soft_node: bool) -> str:
    why = checks.refuses_card(state, terms)
    if why:
        return why
    if terms.vendor.rules.soft_split and checks.mode_differs(terms, soft_node=soft_node):
        return checks.WRONG_MODE
    if terms.numa_bind and terms.vendor.rules.numa:
        walk.enter_numa(state.card.numa, count=not terms.topology)
    return checks.refuses_now(state, terms)


def _share(state: CardState, request: CardRequest, terms: Terms, taken: CardUse) -> tuple[CardShare | None, str]:
    card, vendor = state.card, terms.vendor
    memory, cores = memory_asked(request, card, vendor), cores_asked(request, card, vendor)
    if vendor.rules.quota and not terms.room.holds(taken.memory + memory, taken.cores + cores):
        return None, checks.OVER_QUOTA
    why = checks.lacks(state, terms, memory, cores)
    if why:
        return None, why
    instance = None
    if vendor.rules.mig and card.mode == MIG_MODE:
        found = candidate(card.profiles, memory, spans_of(state.use.instances))
        if found is None or len(state.use.instances) >= card.slots:
            return None, checks.NO_PIECE
        instance = found[1]
    word = card.model if vendor.keeps_model else vendor.word
    share = CardShare(
        uuid=card.uuid,
        vendor=word,
        memory=memory,
        cores=cores,
        index=card.index,
        instance=instance,
        custom={name: value for name, value in card.custom.items() if name == vendor.rules.groups},
    )
    return share, ""


def _outcome(walk: _Walk, request: CardRequest, terms: Terms, pair_scores: PairScores, cards: int) -> ContainerFit:
    picked = tuple(walk.shares)
    if len(picked) >= request.count:
        if terms.vendor.rules.pairs:
            paired = _in_pairs(picked) if request.count > 1 else picked
            if len(paired) >= request.count:
                return ContainerFit(picked=tuple(paired[: request.count]), complete=True, cards=cards)
            refusals = {checks.TOO_FEW: len(paired)}
            return ContainerFit(picked=picked, complete=False, refusals=refusals, cards=request.count)
        if terms.topology:
            places = best_together([share.uuid for share in picked], request.count, pair_scores)
            return ContainerFit(picked=tuple(picked[place] for place in places), complete=True, cards=cards)
        return ContainerFit(
            picked=_in_groups(picked, request.count, terms.vendor.rules.groups), complete=True, cards=cards
        )
    if picked:
        walk.refuse(checks.TOO_FEW, len(picked))
    return ContainerFit(picked=picked, complete=False, refusals=walk.refusals, cards=cards)


def _in_pairs(shares: Sequence[CardShare]) -> tuple[CardShare, ...]:
    """Those whose neighbour on the same board was found too, boards in the order found (hami-semantics §5.2)."""
    boards: dict[int, list[CardShare]] = {}
    for share in shares:
        boards.setdefault(share.index // 2, []).append(share)
    return tuple(share for board in boards.values() if len(board) == len(("left", "right")) for share in board)


def _in_groups(shares: Sequence[CardShare], count: int, group: str) -> tuple[CardShare, ...]:
    """Cards from as few groups as possible: the largest group first."""
    groups: dict[int | str, list[CardShare]] = {}
    for share in shares:
        groups.setdefault(share.custom.get(group, 0), []).append(share)
    ordered = sorted(groups.values(), key=len, reverse=True)
    return tuple([share for each in ordered for share in each][:count])
