"""The quota trees of the cluster: cluster queues as leaves, cohorts as inner nodes (docs/rules/quota.md#the-tree).

A cohort that is only named has no quota of its own. Quota changes are rare: the trees that they concern are laid anew when
somebody next asks. Usage changes are not: they touch one path. All changes go through the trail.
"""

from collections.abc import Iterable, Mapping

from events.quota import ClusterQueueObserved, CohortObserved
from projections.quota.columns import Column, Columns, FlavorResource, Usage
from projections.quota.layout import Layout
from projections.quota.node import Node
from projections.trail import Trail

RELEASED, CHANGED, LESSENED = 0, 1, 2


class QuotaTree:
    """All trees of quota. A cluster queue without a cohort is a tree of its own."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.columns = Columns()
        self._touched: dict[str, None] = {}
        self._touched_queues: dict[str, None] = {}
        self._observed_queues: dict[str, ClusterQueueObserved] = {}
        self._observed_cohorts: dict[str, CohortObserved] = {}
        self._homeless: dict[str, Usage] = {}
        """Usage of cluster queues that are gone: it counts again if they come back."""
        self._layout = Layout({}, {}, self.columns)
        self._outdated: dict[tuple[str, bool], None] = {}
        """Names of queues (True) and cohorts that have changed since the trees were laid."""
        self._newest = 0
        """No stamp of a tree that is gone is above it: one that comes back grows on."""
        self._width = 0
        """So many columns every node has room for."""

    def set_cluster_queue(self, observed: ClusterQueueObserved) -> None:
        """Add or change a queue; what it uses stays used."""
        self._trail.put(self._observed_queues, observed.name, observed)
        self._outdate(observed.name, is_queue=True)

    def remove_cluster_queue(self, name: str) -> None:
        """The queue is gone; what it used counts again if it comes back."""
        self._trail.drop(self._observed_queues, name)
        self._outdate(name, is_queue=True)

    def set_cohort(self, observed: CohortObserved) -> None:
        """Take a Cohort as it was observed: its parent, quotas and weight; the trees are laid out again when they are next asked for."""
        self._trail.put(self._observed_cohorts, observed.name, observed)
        self._outdate(observed.name, is_queue=False)

    def remove_cohort(self, name: str) -> None:
        """The Cohort object is gone; the cohort remains, without quota of its own, while something names it."""
        self._trail.drop(self._observed_cohorts, name)
        self._outdate(name, is_queue=False)

    @property
    def queues(self) -> dict[str, Node]:
        """The nodes of the cluster queues, by name."""
        return self._laid().queues

    @property
    def cohorts(self) -> dict[str, Node]:
        """The nodes of the cohorts, by name."""
        return self._laid().cohorts

    def node(self, cluster_queue: str) -> Node | None:
        """A cluster queue's place in its tree with quota and use; None where there is no such queue."""
        return self._laid().queues.get(cluster_queue)

    def root_of(self, cluster_queue: str) -> str:
        """The key of the tree that a cluster queue is in; empty where there is no such queue."""
        node = self._laid().queues.get(cluster_queue)
        return "" if node is None else node.root.key

    def trees(self) -> list[str]:
        """The keys of all trees, in order."""
        return list(self._laid().members)

    def members(self, root: str) -> tuple[str, ...]:
        """The cluster queues of a tree, in order."""
        return self._laid().members.get(root, ())

    def trees_with(self, flavors: Iterable[str]) -> dict[str, None]:
        """The keys of the trees of which a queue has quota of one of these flavors."""
        laid = self._laid()
        return {key: None for flavor in flavors for key in laid.trees_of_flavor.get(flavor, ())}

    def cyclic(self, cluster_queue: str) -> bool:
        """Whether the queue's cohort is its own ancestor, which makes all of its members inactive."""
        observed = self._observed_queues.get(cluster_queue)
        return observed is not None and observed.cohort in self._laid().cyclic

    def timed(self, tree: str) -> bool:
        """Whether something in the tree protects victims only for a time."""
        return tree in self._laid().timed

    def released(self, cluster_queue: str) -> int:
        """A number that grows whenever quota of the queue's tree changes, usage is given back or a holder gets easier to preempt; 0 without such a queue."""
        node = self._laid().queues.get(cluster_queue)
        return 0 if node is None else node.root.stamps[RELEASED]

    def changed(self, cluster_queue: str) -> int:
        """A number that grows with every change of quota, usage or its holders in the queue's tree; 0 without such a queue."""
        node = self._laid().queues.get(cluster_queue)
        return 0 if node is None else node.root.stamps[CHANGED]

    def lessened(self, cluster_queue: str) -> int:
        """A number that grows whenever there is less of what the queue's tree shares with others beside quota; 0 without such a queue."""
        node = self._laid().queues.get(cluster_queue)
        return 0 if node is None else node.root.stamps[LESSENED]

    def note_change(self, cluster_queue: str) -> None:
        """Say that something about the holders of a queue's quota has changed, such as who would be preempted first."""
        node = self._laid().queues.get(cluster_queue)
        if node is not None:
            self._stamp(node.root, CHANGED)

    def note_easier_victim(self, cluster_queue: str) -> None:
        """Say that a holder of a queue's quota may make room for who could not have it do so before: they may fit now."""
        node = self._laid().queues.get(cluster_queue)
        if node is not None:
            self._release(node.root)

    def shared_room_changed(self, flavors: Iterable[str], *, by: str = "", more: bool) -> None:
        """Say that what trees share beside their quota of flavors has changed by a workload that holds quota of the queue `by`.

        Other trees are looked at again (all, where nobody holds quota); where there is `more` room, what was refused in them may fit.
        """
        laid, own = self._laid(), self.root_of(by)
        for key in self.trees_with(flavors):
            if key == own:
                continue
            if more:
                self._release(laid.roots[key])
            else:
                self._stamp(laid.roots[key], LESSENED)

    def touch_users_of(self, flavors: Iterable[str]) -> None:
        """Say that there is less of what trees share beside their quota of flavors: nobody is let in for that, but who is tried says so."""
        laid = self._laid()
        for key in self.trees_with(flavors):
            self._stamp(laid.roots[key], LESSENED)

    def add_usage(self, cluster_queue: str, usage: Mapping[Column, int]) -> None:
        """Charge usage to a queue, and what spills over to its ancestors."""
        node = self._laid().queues.get(cluster_queue)
        if node is None:
            self._charge_homeless(cluster_queue, usage, 1)
            return
        self._stamp(node.root, CHANGED)
        self._widen()
        for column, amount in usage.items():
            node.charge(self._trail, column, amount)

    def remove_usage(self, cluster_queue: str, usage: Mapping[Column, int]) -> None:
        """Give usage back: the exact inverse of `add_usage`."""
        node = self._laid().queues.get(cluster_queue)
        if node is None:
            self._charge_homeless(cluster_queue, usage, -1)
            return
        self._release(node.root)
        for column, amount in usage.items():
            node.discharge(self._trail, column, amount)

    def usage_by_name(self, node: Node) -> dict[FlavorResource, int]:
        """What a node uses, of what it uses at all, in the order of names."""
        return self.columns.by_name({column: amount for column, amount in enumerate(node.usage) if amount})

    def touch(self, cluster_queue: str) -> None:
        """Say that something else changed that matters for this queue, such as who waits in it."""
        self._note(self._touched_queues, cluster_queue)

    def touch_all(self) -> None:
        """Note a change in every tree, as when settings change."""
        self._touched.update(dict.fromkeys(self.trees()))

    def touched(self) -> set[str]:
        """Trees in which something changed since they were last looked at: a hint, no part of the state."""
        laid = self._laid()
        for name in self._touched_queues:
            self._note(self._touched, self.root_of(name))
        self._trail.clear(self._touched_queues)
        return self._touched.keys() & laid.members.keys()

    def looked_at(self, tree: str) -> None:
        """A tree that was touched has been looked at; if that is taken back, it is touched again."""
        self._trail.drop(self._touched, tree)

    def column(self, flavor: str, resource: str) -> Column:
        """The column of a flavor and resource, with room for it in every node."""
        column = self.columns.of(flavor, resource)
        self._laid()
        self._widen()
        return column

    def _release(self, root: Node) -> None:
        """Note that whoever was refused in a tree may fit now."""
        self._stamp(root, CHANGED)
        self._stamp(root, RELEASED)

    def _stamp(self, root: Node, which: int) -> None:
        self._trail.set_item(root.stamps, which, root.stamps[which] + 1)
        self._note(self._touched, root.key)

    def _note(self, touched: dict[str, None], key: str) -> None:
        if key not in touched:
            self._trail.put(touched, key, None)

    def _charge_homeless(self, cluster_queue: str, usage: Mapping[Column, int], sign: int) -> None:
        kept = self._homeless.get(cluster_queue, {})
        sums = {column: kept.get(column, 0) + sign * usage.get(column, 0) for column in (*kept, *usage)}
        self._trail.put(self._homeless, cluster_queue, sums)

    def _widen(self) -> None:
        if self._width < self.columns.width:
            self._widen_all()

    def _widen_all(self) -> None:
        self._width = self.columns.width
        for node in (*self._layout.queues.values(), *self._layout.cohorts.values()):
            node.widen(self._width)

    def _outdate(self, name: str, *, is_queue: bool) -> None:
        if (name, is_queue) not in self._outdated:
            self._trail.put(self._outdated, (name, is_queue), None)

    def _laid(self) -> Layout:
        if self._outdated:
            self._lay()
        return self._layout

    def _lay(self) -> None:
        before, outdated = self._layout, dict(self._outdated)
        trees = self._trees_concerned()
        nodes = {(node.name, node.is_queue) for node in before.nodes_of(trees)} | outdated.keys()
        queues = sorted(name for name, is_queue in nodes if is_queue)
        cohorts = sorted(name for name, is_queue in nodes if not is_queue)
        layout = Layout(
            {name: self._observed_queues[name] for name in queues if name in self._observed_queues},
            {name: self._observed_cohorts[name] for name in cohorts if name in self._observed_cohorts},
            self.columns,
        )
        self._newest = 1 + max((self._newest, *(max(before.roots[key].stamps) for key in trees)))
        for node in layout.roots.values():
            node.stamps = [self._newest] * len(node.stamps)
            self._touched[node.key] = None
        self._carry_over(before, layout, queues)
        layout.stand_for(trees, before)
        self._layout = layout
        self._outdated.clear()
        self._widen()
        self._trail.note(lambda: self._put_back(before, outdated))

    def _trees_concerned(self) -> set[str]:
        """The trees as they are laid in which something has changed, or to which it comes."""
        laid = self._layout
        if laid.cyclic:
            return set(laid.roots)  # Cohorts that go round in a circle hang together and have no root in common.
        found: set[str] = set()
        for name, is_queue in self._outdated:
            if is_queue:
                queue = self._observed_queues.get(name)
                nodes = laid.queues.get(name), laid.cohorts.get(queue.cohort if queue is not None else "")
            else:
                cohort = self._observed_cohorts.get(name)
                nodes = laid.cohorts.get(name), laid.cohorts.get(cohort.parent if cohort is not None else "")
            found.update(node.root.key for node in nodes if node is not None)
        return found

    def _carry_over(self, before: Layout, layout: Layout, queues: Iterable[str]) -> None:
        """Charge what these queues use in the trees that were laid anew, and keep it of those that are gone."""
        quiet = Trail()
        for name in queues:
            was, node = before.queues.get(name), layout.queues.get(name)
            if was is None:
                usage = self._homeless.get(name, {})
            else:
                usage = {column: amount for column, amount in enumerate(was.usage) if amount}
            if node is not None:
                self._trail.drop(self._homeless, name)
                for column, amount in usage.items():
                    node.charge(quiet, column, amount)
            elif usage:
                self._trail.put(self._homeless, name, usage)

    def _put_back(self, layout: Layout, outdated: Mapping[tuple[str, bool], None]) -> None:
        self._layout = layout
        self._outdated.clear()
        self._outdated.update(outdated)
        self._widen_all()
