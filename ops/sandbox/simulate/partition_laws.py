"""The laws of a partition, held at every commit: quota is reserved once, within limits; who may be preempted."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, WorkloadAdmitted
from events.amount import UNLIMITED
from events.card import WHOLE_CARD, Card, CardShare
from events.catalogue import AnyEvent
from events.control import EpochStarted
from events.device import DevicesRefused, DevicesReserved
from events.event import Millis
from events.preemption import PreemptionOrdered, PreemptionRefused
from events.slices import WorkloadSliceReplaced, WorkloadSliceResized, WorkloadSliceSubmitted
from events.workload import EvictionOrdered, Owner, PodSetAssignment, QuotaReleased
from ops.queries.replay import fold_partition
from ops.sandbox.simulate.claim_laws import ClaimCharges
from ops.sandbox.simulate.place_laws import PlaceLaws
from ops.sandbox.simulate.saved_worlds import SavedWorlds
from projections.devices.card_use import IDLE, CardUse
from projections.devices.holdings.card_holdings import TERMINAL
from projections.devices.holdings.card_stakes import Holding, uses_of
from projections.devices.vendors.table import NVIDIA
from projections.log_position import LogPosition
from projections.quota.node import Node
from projections.workloads.lifecycle import chain_of
from projections.world import World
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold


class AdmittedSpan(msgspec.Struct):
    """A time in which a workload was admitted, by the sequences of its partition; it goes on while `until` is 0."""

    since: int
    until: int = 0


class PartitionLaws:
    """Hears every event of the decisions of a partition, in canonical order, and notes what breaks a law."""

    def __init__(self, world: World, elsewhere: frozenset[str] = frozenset()) -> None:
        """`elsewhere` are the workloads whose objects tell what the log had said and lost: they may stand otherwise without a decision."""
        self.broken: list[str] = []
        self._elsewhere = elsewhere
        self.runs: dict[str, list[AdmittedSpan]] = {}
        """By workload, when it was admitted."""
        self.slices: dict[str, list[str]] = {}
        """By UID of an elastic job, its later slices."""
        self.queues: set[str] = set()
        """The cluster queues whose quota was given out in the partition itself."""
        self._world = world
        self._reserved: dict[str, int] = {}
        self._uids: dict[str, str] = {}
        """By workload, whose quota was reserved last: a copy in another cluster is made anew under the same name."""
        self._assigned: dict[str, Sequence[PodSetAssignment]] = {}
        """By workload, for which pods it has quota."""
        self._taken_over: dict[str, _Usage] = {}
        """By slice, what it goes on with that the one before it had."""
        self._open: dict[str, dict[str, int]] = {}
        """By preemptor the victims that its open request names, and the reservation in which each was found; 0 where another log has reserved."""
        self._at: Millis = 0
        self._epochs: dict[str, int] = {}

    def hear(self, event: AnyEvent, position: LogPosition) -> None:  # noqa: C901 - one case per event
        """One event; the whole commit is folded already."""
        self._hold_order(event, position)
        match event:
            case QuotaReserved():
                self._reserve(event, position)
            case WorkloadAdmitted():
                self._admit(event.workload, position)
            case PreemptionRequested():
                self._ask(event)
            case PreemptionOrdered():
                self._order(event, position)
                self._stop(event.workload, position)
            case EvictionOrdered():
                self._stop(event.workload, position)
            case QuotaReleased():
                self._reserved.pop(event.workload, None)
                self._assigned.pop(event.workload, None)
                self._stop(event.workload, position)
            case PreemptionRefused(preemptor=key) | AdmissionRefused(workload=key):
                self._open.pop(key, None)
            case WorkloadSliceResized(workload=key, pod_sets=sets) if key in self._assigned:
                self._assigned[key] = _of_counts(self._assigned[key], {one.name: one.count for one in sets})
            case WorkloadSliceReplaced():
                self._taken_over[event.by] = _usage_of(self._assigned.pop(event.workload, ()))
            case WorkloadSliceSubmitted(owner=Owner(uid=uid)):
                self.slices.setdefault(uid, []).append(event.workload)
            case _:
                pass

    def admitted_at(self, workload: str, sequence: int) -> bool:
        """Whether a workload was admitted at a sequence of the partition."""
        return any(
            one.since <= sequence and (not one.until or sequence < one.until) for one in self.runs.get(workload, ())
        )

    def _hold_order(self, event: AnyEvent, position: LogPosition) -> None:
        """Time goes on, and each takeover is one epoch more."""
        if position.at < self._at:
            self._report(position, f"was decided {self._at - position.at} ms before the decision ahead of it")
        self._at = position.at
        if isinstance(event, EpochStarted):
            last = self._epochs.get(event.service, 0)
            if event.epoch != last + 1:
                self._report(position, f"begins epoch {event.epoch} of {event.service} behind epoch {last}")
            self._epochs[event.service] = event.epoch

    def _reserve(self, event: QuotaReserved, position: LogPosition) -> None:
        self.queues.add(event.cluster_queue)
        self._begin_anew(event.workload, position)
        self._open.pop(event.workload, None)
        first = self._reserved.get(event.workload)
        if first is not None and event.workload not in self._elsewhere and self._still_there(event.workload):
            self._report(position, f"reserves quota for {event.workload} again, which has held it since {first}")
        self._reserved[event.workload] = position.sequence
        node = self._world.quota.node(event.cluster_queue)
        had = self._taken_over.pop(event.workload, _Usage())
        # A slice that needs no more than the one before it takes nothing, though its queue may be above its limit by now.
        asked = _usage_of(event.assignments) - had
        self._assigned[event.workload] = event.assignments
        for name in asked:
            self._hold_limits(node, name, position)

    def _hold_limits(self, node: Node | None, name: tuple[str, str], position: LogPosition) -> None:
        """Of a queue and of all above it that lend it something: of what it lends nobody, they may have given too much before."""
        for one in node.path if node is not None else ():
            column, used = self._world.quota.columns.of(*name), self._world.quota.usage_by_name(one).get(name, 0)
            self._hold_limit(one, column, used, name, position)
            if used <= one.local[column]:
                return

    def _hold_limit(self, node: Node, column: int, used: int, name: tuple[str, str], position: LogPosition) -> None:
        owned, limit = node.subtree[column], node.borrowing_limit[column]
        if owned == UNLIMITED or (node.parent is not None and (limit is None or limit == UNLIMITED)):
            return
        most = owned + (limit or 0) if node.parent is not None else owned
        if used > most:
            self._report(
                position, f"lets {node.key} use {used} of {name[1]} in flavor {name[0]}, and {most} is its limit"
            )

    def _admit(self, workload: str, position: LogPosition) -> None:
        self._begin_anew(workload, position)
        if workload in self._elsewhere:
            self._stop(workload, position)
        runs = self.runs.setdefault(workload, [])
        if workload not in self._reserved and not self._is_taken_over(workload):
            self._report(position, f"admits {workload}, which holds no quota")
        if runs and not runs[-1].until:
            self._report(position, f"admits {workload} again, which has been admitted since {runs[-1].since}")
        runs.append(AdmittedSpan(since=position.sequence))

    def _stop(self, workload: str, position: LogPosition) -> None:
        runs = self.runs.get(workload)
        if runs and not runs[-1].until:
            runs[-1].until = position.sequence

    def _ask(self, event: PreemptionRequested) -> None:
        self._open[event.workload] = {one.workload: self._reserved.get(one.workload, 0) for one in event.victims}

    def _order(self, event: PreemptionOrdered, position: LogPosition) -> None:
        found = self._open.get(event.preemptor, {}).pop(event.workload, None)
        if found is None:
            self._report(
                position, f"has {event.workload} make room for {event.preemptor}, which has no open request for it"
            )
        elif found != self._reserved.get(event.workload, 0):
            self._report(
                position, f"has {event.workload} make room for {event.preemptor}, which had asked for an earlier run"
            )

    def _begin_anew(self, key: str, position: LogPosition) -> None:
        """What a workload of the same name had that is gone, no decision has taken back."""
        workload = self._world.workloads.get(key)
        if workload is not None and self._uids.setdefault(key, workload.uid) != workload.uid:
            self._uids[key] = workload.uid
            self._reserved.pop(key, None)
            self._stop(key, position)

    def _is_taken_over(self, key: str) -> bool:
        """Whether its quota may be what its object says: that shows what was decided on a log, or a part of one, that was lost since."""
        workload = self._world.workloads.get(key)
        return (
            workload is not None
            and workload.admission is not None
            and (bool(workload.in_cluster.marks) or key in self._elsewhere)
        )

    def _still_there(self, workload: str) -> bool:
        found = self._world.workloads.get(workload)
        return found is not None and not found.finished

    def _report(self, position: LogPosition, what: str) -> None:
        self.broken.append(f"{position.partition}/{position.sequence} {what}")


_Usage = Counter[tuple[str, str]]
"""By flavor and resource."""


def _usage_of(assignments: Sequence[PodSetAssignment]) -> _Usage:
    found = _Usage()
    for one in assignments:
        for resource, flavor in one.flavors.items():
            found[flavor, resource] += one.usage.get(resource, 0)
    return found


def _of_counts(assignments: Sequence[PodSetAssignment], counts: Mapping[str, int]) -> list[PodSetAssignment]:
    """The same flavors for other numbers of pods."""
    return [
        replace(one, count=count, usage={name: used * count // max(one.count, 1) for name, used in one.usage.items()})
        for one in assignments
        for count in (counts[one.name],)
    ]


_PodCards = tuple[str, tuple[tuple[str, ...], ...]]
"""A pod set, and the cards of the containers of one of its pods."""


class CardLaws:
    """The same of the partition of cards."""

    def __init__(self, world: World) -> None:
        self.broken: list[str] = []
        self._world = world
        self._given: dict[str, tuple[int, Counter[_PodCards]]] = {}
        """By elastic job, for which reservation cards were given last, and which each of its pods got."""
        self._served: set[tuple[str, int]] = set()
        """The attempts that cards were given to."""

    def hear(self, event: AnyEvent, position: LogPosition) -> None:
        """One event; the whole commit is folded already."""
        if isinstance(event, DevicesRefused):
            self._hold_who_runs(event, position)
        if not isinstance(event, DevicesReserved):
            return
        self._served.add((event.workload, event.reservation))
        cards = {card.uuid: card for node in self._world.cards.nodes.values() for card in node.cards}
        # What the admitter has proposed besides is given to nobody yet.
        given = [one for one in self._world.cards.holdings.values() if one.confirmed]
        taken: dict[str, CardUse] = {}
        for one in given:
            for uuid, use in uses_of(one.placements).items():
                taken[uuid] = taken.get(uuid, IDLE).plus(use)
        for uuid, use in sorted(taken.items()):
            card = cards.get(uuid)
            if card is not None and (use.memory > card.memory or use.slots > card.slots or use.cores > card.cores):
                self._report(position, f"gives more of card {uuid} than it has: {use}")
        for uuid in sorted(_shared_though_alone(given, cards)):
            self._report(position, f"gives card {uuid} to others beside one who has it for himself")
        self._hold_those_that_stay(event, position)

    def _hold_who_runs(self, event: DevicesRefused, position: LogPosition) -> None:
        """Who was let in without cards is not stopped for want of them (docs/rules/devices.md#let-in-before)."""
        workload = self._world.workloads.get(event.workload)
        of_now = (
            workload is not None and workload.devices is not None and workload.devices.reservation == event.reservation
        )
        if (
            workload is not None
            and of_now
            and workload.admitted
            and (event.workload, event.reservation) not in self._served
        ):
            self._report(position, f"stops {event.workload}, which runs, for want of cards")

    def _hold_those_that_stay(self, event: DevicesReserved, position: LogPosition) -> None:
        """Pods of an elastic job that go on have still the cards that they were given, whatever is given to it besides.

        A pod on a host that was replaced and came back has none of those that were given: that is told as drift.
        """
        workload = self._world.workloads.get(event.workload)
        if workload is None or not workload.spec.elastic:
            return
        given = Counter((one.pod_set, _cards_of(one.containers)) for one in event.placements)
        reservation, before = self._given.get(chain_of(workload), (0, Counter[_PodCards]()))
        self._given[chain_of(workload)] = event.reservation, Counter(given)
        if not (reservation == event.reservation or workload.resizing.continues):
            return
        for pod in self._world.pods.values():
            node = self._world.nodes.get(pod.node)
            goes_on = node is not None and node.ready and not pod.terminating and pod.phase not in TERMINAL
            has = (pod.pod_set, _cards_of(pod.shares))
            if pod.workload == event.workload and goes_on and before[has]:
                before[has] -= 1
                if not given[has]:
                    self._report(position, f"leaves {pod.name} of {event.workload} without its cards: {has[1]}")
                given[has] -= 1

    def _report(self, position: LogPosition, what: str) -> None:
        self.broken.append(f"{position.partition}/{position.sequence} {what}")


def _shared_though_alone(given: Sequence[Holding], cards: Mapping[str, Card]) -> set[str]:
    """Cards of which a workload has all cores at once, and another one anything."""
    holders: dict[str, set[str]] = {}
    alone: set[str] = set()
    for one in given:
        for share in (share for each in one.placements for shares in each.containers for share in shares):
            holders.setdefault(share.uuid, set()).add(one.workload)
            card = cards.get(share.uuid)
            if card is not None and card.vendor == NVIDIA and share.cores == card.cores == WHOLE_CARD:
                alone.add(share.uuid)
    return {uuid for uuid in alone if len(holders[uuid]) > 1}


def _cards_of(containers: Sequence[Sequence[CardShare]]) -> tuple[tuple[str, ...], ...]:
    """The cards of each container that has any."""
    return tuple(tuple(share.uuid for share in shares) for shares in containers if shares)


def hold_partition(
    partition: str, entries: Mapping[str, Sequence[Entry]], *, cards: bool, elsewhere: frozenset[str] = frozenset()
) -> tuple[PartitionFold, PartitionLaws, list[str]]:
    """Replay a partition, decide every decision of it again, and hold the laws at every commit."""
    start = PartitionFold(partition)
    book = PartitionLaws(start.world, elsewhere)
    card_book = CardLaws(start.world)
    places = PlaceLaws(start.world)
    charges = ClaimCharges(start.world)
    own = card_book.hear if cards else book.hear
    saved = SavedWorlds(start.world)

    def hear(event: AnyEvent, position: LogPosition) -> None:
        own(event, position)
        places.hear(event, position)
        charges.hear(event, position)
        saved.hear(position)

    def inherit(event: AnyEvent, position: LogPosition) -> None:
        hear(event, position)
        book.queues.clear()

    fold, replayed = fold_partition(
        partition, entries, verify=True, looks_at_all=True, start=start, listener=hear, inherited=inherit
    )
    broken = [*book.broken, *card_book.broken, *places.broken, *charges.broken, *saved.broken]
    broken += [
        f"{partition}/{one.sequence} by {one.author} comes out otherwise in replay" for one in replayed.differences
    ]
    broken += [
        f"{partition}/{one.sequence} by {one.author} names another world than comes out in replay"
        for one in replayed.other_states
    ]
    return fold, book, broken
