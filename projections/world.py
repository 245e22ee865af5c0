"""The state of a partition: one table per kind of object, the workloads, the lines, the quota tree and the cards.

The world is mutable inside, behind its trail: `mark` and `undo` take back whatever was folded or tried since. Nothing
outside `projections` changes it except through `projections.evolve.evolve`.

Beside the state there are shortcuts: hints that say where looking may be worth while (`work`, `quota.touched`, `examined`,
`lines.moved`, the dirty cards), plans that were made before (`plan_cache`), and answers that need no search. A decision never
depends on them: with `shortcuts` off, all at once, it is the same to the byte. A hint that is taken away comes back when the
trail goes back behind it, so a decision that does not come to stand takes none with it.
"""

import heapq
from collections.abc import Iterable, Mapping
from functools import partial

from events.event import Millis
from events.pod import PodAccounted
from events.quota import (
    ClusterQueueObserved,
)
from events.settings import SettingsObserved
from events.subjects import family_of
from projections.amiss import Amiss
from projections.budgets.budget_usage import BudgetUsage, changes_after, over
from projections.budgets.scopes import whole_of
from projections.budgets.state import BudgetState
from projections.claims.state import ClaimState
from projections.configuration import ConfigurationObjects
from projections.devices.holdings.card_holdings import CardHoldings
from projections.feature_gates import enabled
from projections.flavors.plan import PlanCache
from projections.object_versions import ObjectVersions
from projections.preemption.state import PreemptionState
from projections.queues.pending_queues import PendingQueues
from projections.quota.holders import QuotaHolders
from projections.quota.tree import QuotaTree
from projections.topology.placement.node_failures import review_places
from projections.topology.usage import DomainTables, TopologyUsage
from projections.trail import Trail, Trial
from projections.work_queue import WorkQueue
from projections.workloads.deadlines import next_deadline
from projections.workloads.lifecycle import Workload, chain_of, object_of_parts, with_earlier
from projections.workloads.second_pass import needs_second_pass
from projections.workloads.variants import BETWEEN_GATES, gate_opened_at


class World(ConfigurationObjects, PreemptionState, BudgetState, ClaimState):
    """State folded from the log, and the indexes that keep its questions cheap.

    What a table holds is said where its room declares it: `state.py` of each room.
    """

    def __init__(self) -> None:  # noqa: PLR0915 - one table after the other
        self.trail = Trail()
        self.shortcuts = True
        """Whether deciders may save work by hints, by what they remember, and by answers that need no search."""
        self.settings = DEFAULT_SETTINGS
        self.sole: dict[str, SettingsObserved] = {}
        super().__init__()
        self.local_queues_of, self.refused = {}, {}
        self.nodes, self.node_locks, self.node_usage, self.registered, self.pods = {}, {}, {}, {}, {}
        self.resource_slices, self.resource_claims = {}, {}
        self.provisioning_configs, self.provisioning_requests, self.provisioning_of = {}, {}, {}
        self.dispatches, self.remotes, self.left_behind = {}, {}, {}
        self.remote_queues, self.quota_automation = {}, {}
        self.workloads, self.by_local_queue, self.second_passes, self.terminating = {}, {}, {}, {}
        self.chains, self.variants, self.rejected, self.parts = {}, {}, {}, {}
        self.accounted: dict[str, PodAccounted] = {}
        """Pods whose finalizer may be removed (`PodAccounted`), by `namespace/name`."""
        self.epochs: dict[str, int] = {}
        self.partition = ""
        self.partition_map, self.homes, self.namespace_homes, self.forks = {}, {}, {}, {}
        self.elsewhere, self.unplaced = {}, {}
        self.aside = {}
        self.amiss: dict[str, Amiss] = {}
        """Messages that were not folded as they stand, by stream, fault and author."""
        self.versions = ObjectVersions(self.trail)
        self.lines = PendingQueues()
        self._beside: list[dict[str, Workload]] = []
        """Records of other worlds of this process: those that are alike are held once."""
        self.quota = QuotaTree(self.trail)
        self.holding = {}
        self.requests, self.answered, self.claims = {}, {}, {}
        self.ledgers, self.entered = {}, {}
        self.budgets, self.budgeted, self.budget_news = {}, {}, {}
        self.cards = CardHoldings(self.trail)
        self.pod_cards, self.elastic_pods = {}, {}
        self.hanging_pods, self.forced_pods = {}, {}
        self.domains = TopologyUsage(
            self.trail,
            DomainTables(
                flavors=self.flavors, topologies=self.topologies, nodes=self.nodes, node_usage=self.node_usage
            ),
        )
        self.placed_pods = {}
        self.work = WorkQueue(self.trail, self.workloads)
        self.reserved_work = WorkQueue(self.trail, self.workloads)
        """The part of `work` that holds quota and is not admitted yet."""
        self.request_work = WorkQueue(self.trail, self.requests)
        self.budget_work = WorkQueue(self.trail, self.budgets)
        self.remote_work = WorkQueue(self.trail, self.remotes)
        self.automation_work = WorkQueue(self.trail, self.cluster_queues)
        self.refused_work = WorkQueue(self.trail, self.refused)
        self.pod_work = WorkQueue(self.trail, self.accounted)
        """Pods whose finalizer may be removed, to be looked at: a hint as `work` is."""
        self.examined: dict[tuple[str, str], tuple[int, Millis, str]] = {}
        """By cluster queue and class of refused workloads: the stamp, and a time that matters, when it was found not to fit."""
        self.cards_looked_at = -1
        """The number of card changes (`cards.count`) when all trees were last found to need no decision."""
        self.plan_cache = PlanCache()
        self._deadlines: list[tuple[Millis, str]] = []

    def mark(self) -> int:
        """A place to come back to with `undo`."""
        return self.trail.mark()

    def undo(self, mark: int) -> None:
        """Take back everything since `mark`."""
        self.trail.undo(mark)

    def trial(self, *, deciding: bool = False) -> Trial:
        """`with world.trial():` the world is as it was afterwards, whatever happens within.

        Where deciders decide within, what they have noted to save work is taken back as well.
        """
        if not deciding:
            return self.trail.trial()
        return self.trail.trial(
            partial(self._note_again, dict(self.examined), self.cards_looked_at, self._deadlines[:])
        )

    def take_back(self, mark: int) -> None:
        """Undo what was folded since `mark`, and forget the shortcuts that deciders have noted meanwhile."""
        self.trail.undo(mark)
        self._forget_notes()

    def _note_again(
        self, examined: dict[tuple[str, str], tuple[int, Millis, str]], cards: int, deadlines: list[tuple[Millis, str]]
    ) -> None:
        self.examined, self.cards_looked_at, self._deadlines = examined, cards, deadlines

    def _forget_notes(self) -> None:
        self.examined.clear()
        self.cards_looked_at = -1

    def stamp(self, cluster_queue: str) -> int:
        """A number that grows whenever something may let in what was refused in this queue.

        Rule: docs/rules/queues.md#retry
        """
        return self.quota.released(cluster_queue) + self.lines.of(cluster_queue).news[0]

    def holders(self, cluster_queue: str) -> QuotaHolders:
        """The workloads that hold quota of a cluster queue."""
        return self.holding.get(cluster_queue, NOBODY)

    def touched_trees(self) -> set[str]:
        """Trees in which quota, its holders or a line changed since they were last looked at: a hint."""
        for name in self.lines.moved:
            self.quota.touch(name)
        self.trail.clear(self.lines.moved)
        return self.quota.touched()

    def settle(self) -> None:
        """What has been folded so far is canonical: it will not be taken back."""
        self.trail.forget()

    def cluster_queue_of(self, workload: Workload) -> ClusterQueueObserved | None:
        """The cluster queue that the workload's local queue leads to, if both are there."""
        local_queue = self.local_queues.get(workload.local_queue)
        return None if local_queue is None else self.cluster_queues.get(local_queue.cluster_queue)

    def put_workload(self, workload: Workload) -> None:
        """Set the workload's record and have it looked at again."""
        before = self.workloads.get(workload.key)
        # What is due of a record that stays is reckoned anew: settings may be others.
        known = None if before is workload else before
        if before is not None and (before.in_cluster.earlier or before.conditions is not workload.conditions):
            workload = with_earlier(workload, before)
        for records in self._beside:
            held = records.get(workload.key)
            if held is not None and held == workload:
                workload = held
        self.trail.put(self.workloads, workload.key, workload)
        self.work.mark_dirty(workload.key)
        if workload.spec.elastic:
            self._note_slice(before, workload)
        self._note_part(before, workload)
        if workload.spec.variant_of:
            self._note_variant(before, workload)
        if workload.line and before is not None and before.checks is not workload.checks:
            self._note_barrier(workload)
        if workload.admission is not None:
            if not workload.admitted:
                self.reserved_work.mark_dirty(workload.key)
            holders = self.holding.get(workload.admission.cluster_queue)
            if holders is not None and workload.key in holders and holders.place(self.trail, workload):
                self.quota.note_change(workload.admission.cluster_queue)
        self._note_second_pass(workload)
        self._note_deadline(known, workload)

    def stand_beside(self, others: Iterable["World"]) -> None:
        """Hold what is alike in other worlds of this process only once, from now on."""
        worlds = list(others)
        self._beside = [one.workloads for one in worlds]
        self.lines.beside[:] = [one.lines for one in worlds]
        self.lines.share()
        for records in self._beside:
            for key, workload in self.workloads.items():
                held = records.get(key)
                if held is not None and held == workload:
                    self.workloads[key] = held

    def _note_deadline(self, before: Workload | None, workload: Workload) -> None:
        """Have it looked at when something about it falls due, unless the same was due before."""
        due = next_deadline(workload, self.settings)
        if due is not None and (before is None or next_deadline(before, self.settings) != due):
            heapq.heappush(self._deadlines, (due, workload.key))

    def _note_part(self, before: Workload | None, workload: Workload) -> None:
        """Whose object has several workloads is known by that object."""
        object_before, its_object = object_of_parts(before), object_of_parts(workload)
        if object_before and object_before != its_object:
            self.trail.take(self.parts, object_before, workload.key)
        if its_object:
            self.trail.add(self.parts, its_object, workload.key)

    def _note_slice(self, before: Workload | None, workload: Workload) -> None:
        """A slice that comes, or asks for other pod sets, concerns those of its job. So do the checks of the one before, for which they wait."""
        chain = chain_of(workload)
        self.trail.add(self.chains, chain, workload.key)
        if before is None or before.spec.pod_sets is not workload.spec.pod_sets:
            for key in self.chains[chain]:
                self.work.mark_dirty(key)
        elif workload.admission is not None and before.checks is not workload.checks:
            for key in self.chains[chain]:
                if key != workload.key and self.workloads[key].line:
                    self._note_barrier(self.workloads[key])

    def _note_variant(self, before: Workload | None, workload: Workload) -> None:
        """What becomes of a variant concerns its workload, whoever of the others only waits to be admitted, and who is tried beside it."""
        parent = workload.spec.variant_of
        self.trail.add(self.variants, parent, workload.key)
        self.work.mark_dirty(parent)
        turned = before is not None and before.admitted != workload.admitted
        for key in self.variants[parent]:
            other = self.workloads[key]
            if key != workload.key and other.reserved:
                self.reserved_work.mark_dirty(key)
            elif key != workload.key and other.line and turned:
                self._note_barrier(other)
        opened = gate_opened_at(workload)
        if opened is not None:
            heapq.heappush(self._deadlines, (opened + BETWEEN_GATES, parent))

    def _note_barrier(self, workload: Workload) -> None:
        """Who waits may be kept from being tried at all from now on, or no more: that is looked at."""
        self.quota.touch(workload.line)
        self.examined.pop((workload.line, self.lines.of(workload.line).refused_as(workload.key) or ""), None)

    def _note_second_pass(self, workload: Workload) -> None:
        if workload.admission is not None and needs_second_pass(workload):
            self.trail.put(self.second_passes, workload.key, None)
            self.quota.touch(workload.admission.cluster_queue)
            if workload.second_pass.again_at:
                self.look_again(workload.second_pass.again_at, workload.admission.cluster_queue)
        else:
            self.trail.drop(self.second_passes, workload.key)

    def review_holders(self) -> None:
        """Have all looked at that hold quota: whether there are any cards at all decides what they wait for."""
        for holders in self.holding.values():
            for key in holders:
                self.work.mark_dirty(key)
                self.reserved_work.mark_dirty(key)

    def advance(self, at: Millis) -> None:
        """Bring workloads whose time has come up for review."""
        while self._deadlines and self._deadlines[0][0] <= at:
            passed = heapq.heappop(self._deadlines)
            while self._deadlines and self._deadlines[0] == passed:
                # Of a budget each that is taken back stands beside the next one, to which it leads again.
                heapq.heappop(self._deadlines)
            self.trail.note(partial(self._fall_due, passed))
            due, key = passed
            if key.startswith(_BUDGET):
                self._budget_due(key.removeprefix(_BUDGET), due, at)
            elif key.startswith(_QUEUE):
                self.quota.touch(key.removeprefix(_QUEUE))
            elif key.startswith(_NODE):
                review_places(self, key.removeprefix(_NODE))
            elif key:
                self.work.mark_dirty(key)

    def _fall_due(self, deadline: tuple[Millis, str]) -> None:
        heapq.heappush(self._deadlines, deadline)

    def look_again(self, due: Millis, cluster_queue: str = "") -> None:
        """Have all deciders take a turn then, and look at this queue's tree: something falls due."""
        heapq.heappush(self._deadlines, (due, _QUEUE + cluster_queue if cluster_queue else ""))

    def review_node_at(self, due: Millis, node: str) -> None:
        """Have those looked at then that were given cards or domains of a node."""
        heapq.heappush(self._deadlines, (due, _NODE + node))

    def review_at(self, due: Millis, workload: str) -> None:
        """Have a workload looked at then: something about it falls due."""
        heapq.heappush(self._deadlines, (due, workload))

    def put_budget(self, scope: str, usage: BudgetUsage) -> None:
        """Set the usage of a budget, and review it when it is used up or renewed."""
        before = self.budgets.get(scope)
        self.trail.put(self.budgets, scope, usage)
        self.budget_work.mark_dirty(scope)
        if before is not None and (before.began != usage.began or over(before) != over(usage)):
            self.review_budget(scope)  # What a fact tells that is ahead of the decider's clock meets no deadline.
        self._look_at_budget(scope, usage, usage.at)

    def review_budget(self, scope: str) -> None:
        """Have all workloads looked at that a budget may let in or hold back."""
        self.budget_work.mark_dirty(scope)
        kind, _, name = whole_of(scope).partition("/")
        if kind == "ClusterQueue":
            queues = list(self.local_queues_of.get(name, ()))
        else:
            queues = [key for key in self.by_local_queue if key.partition("/")[0] == name]
        for key in queues:
            for workload in self.by_local_queue.get(key, ()):
                self.work.mark_dirty(workload)

    def _look_at_budget(self, scope: str, usage: BudgetUsage, after: Millis) -> None:
        due = changes_after(usage, after)
        if due is not None:
            heapq.heappush(self._deadlines, (due, _BUDGET + scope))

    def _budget_due(self, scope: str, due: Millis, at: Millis) -> None:
        """Review a budget that falls due, unless it has changed since; one review serves all that were due until now."""
        spent = self.budgets.get(scope)
        if spent is not None and changes_after(spent, due - 1) == due:
            self.review_budget(scope)
            self._look_at_budget(scope, spent, at)

    def next_deadline(self) -> Millis | None:
        """When the next workload has to be looked at, though nothing happened."""
        return self._deadlines[0][0] if self._deadlines else None

    def use(self, settings: SettingsObserved) -> None:
        """Another configuration is in force: look at everything, and reckon every deadline anew."""
        before = self.settings
        self.settings = settings
        self.trail.note(lambda: setattr(self, "settings", before))
        self.domains.use(overlapping=enabled(settings, "TASHandleOverlappingFlavors"))
        for key in sorted(self.workloads):
            self.put_workload(self.workloads[key])

    def begin(self) -> None:
        """A decider begins: without shortcuts it looks at everything, and remembers nothing."""
        if not self.shortcuts:
            self.review_all()

    def review_all(self) -> None:
        """Have everything looked at: what a replay does, that has seen no earlier turn."""
        self.examined.clear()
        self.plan_cache.clear()
        self.cards_looked_at = -1
        self.quota.touch_all()
        for key in self.workloads:
            self.work.mark_dirty(key)
            self.reserved_work.mark_dirty(key)
        for key in self.requests:
            self.request_work.mark_dirty(key)
        for scope in self.budgets:
            self.budget_work.mark_dirty(scope)
        for name in self.cluster_queues:
            self.automation_work.mark_dirty(name)
        self.cards.mark_all_dirty()

    def leave_cards(self) -> None:
        """Nobody here looks at cards that something has happened to: they are not kept."""
        self.cards.mark_all_done()


_BUDGET = "\1"
"""Before a budget among the keys of deadlines."""
_NODE = "\2"
"""Before a node."""
_QUEUE = "\0"
"""Before a cluster queue among the keys of deadlines."""
DEFAULT_SETTINGS = SettingsObserved()
NOBODY = QuotaHolders()


def hold_once(worlds: Mapping[str, World]) -> None:
    """Have the worlds of a process, by partition, hold once what is alike in them: trees have no workloads in common, but all with cards."""
    for name, world in worlds.items():
        world.stand_beside(one for other, one in worlds.items() if family_of(other) != family_of(name))
