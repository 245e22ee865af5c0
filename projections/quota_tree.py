"""The quota tree: what each cluster queue and cohort owns, uses, lends and may still borrow (kueue-semantics §2).

Cluster queues are leaves, cohorts inner nodes; a cohort that is only named has no quota of its own. Usage that exceeds
what a node keeps for itself bubbles up to its parent. All changes go through the trail.
"""

from collections.abc import Iterable, Mapping

from events.amount import add, subtract
from events.quota import ClusterQueueObserved, CohortObserved, Quota, ResourceGroup, Weight
from projections.trail import Trail

FlavorResource = tuple[str, str]


class Node:
    """A cluster queue or a cohort. `subtree` and `local` are derived from quotas; `usage` is what is charged."""

    __slots__ = (
        "children",
        "generation",
        "height",
        "is_queue",
        "local",
        "name",
        "parent",
        "quotas",
        "subtree",
        "usage",
        "weight",
    )

    def __init__(self, name: str, *, is_queue: bool) -> None:
        self.name = name
        self.is_queue = is_queue
        self.parent: Node | None = None
        self.children: dict[str, Node] = {}
        self.quotas: dict[FlavorResource, Quota] = {}
        self.subtree: dict[FlavorResource, int] = {}
        self.local: dict[FlavorResource, int] = {}
        self.usage: dict[FlavorResource, int] = {}
        self.weight = Weight()
        self.height = 0
        self.generation: dict[str, int] = {"quota": 0, "any": 0}

    def local_available(self, fr: FlavorResource) -> int:
        """What is left of the part that is not lent to others."""
        return max(0, subtract(self.local.get(fr, 0), self.usage.get(fr, 0)))

    def borrowing_with(self, fr: FlavorResource, amount: int) -> bool:
        """Whether the node would use more than its subtree owns if it used so much more."""
        return self.subtree.get(fr, 0) < self.usage.get(fr, 0) + amount

    def available(self, fr: FlavorResource) -> int:
        """What the node may still use; negative for an over-admitted cohort, never for a queue."""
        free = self._available(fr)
        return max(0, free) if self.is_queue else free

    def _available(self, fr: FlavorResource) -> int:
        if self.parent is None:
            return subtract(self.subtree.get(fr, 0), self.usage.get(fr, 0))
        from_parent = self.parent._available(fr)
        quota = self.quotas.get(fr)
        if quota is not None and quota.borrowing_limit is not None:
            stored = subtract(self.subtree.get(fr, 0), self.local.get(fr, 0))
            used = max(0, self.usage.get(fr, 0) - self.local.get(fr, 0))
            from_parent = min(from_parent, add(subtract(stored, used), quota.borrowing_limit))
        return add(self.local_available(fr), from_parent)

    def potential(self, fr: FlavorResource) -> int:
        """What the node could use if nobody used anything."""
        if self.parent is None:
            return self.subtree.get(fr, 0)
        most = add(self.local.get(fr, 0), self.parent.potential(fr))
        quota = self.quotas.get(fr)
        if quota is not None and quota.borrowing_limit is not None:
            most = min(most, add(self.subtree.get(fr, 0), quota.borrowing_limit))
        return most

    def path(self) -> Iterable["Node"]:
        """The node and its ancestors, up to the root."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    @property
    def root(self) -> "Node":
        """The top of the tree."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def leaves(self) -> Iterable["Node"]:
        """The cluster queues below, by name, a subtree at a time."""
        if self.is_queue:
            yield self
        for name in sorted(self.children):
            yield from self.children[name].leaves()


class QuotaTree:
    """All trees of quota. A cluster queue without a cohort is a tree of its own."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self.queues: dict[str, Node] = {}
        self.cohorts: dict[str, Node] = {}
        self._observed_queues: dict[str, ClusterQueueObserved] = {}
        self._observed_cohorts: dict[str, CohortObserved] = {}
        self._usage: dict[str, dict[FlavorResource, int]] = {}
        self._cyclic: dict[str, bool] = {}

    def set_cluster_queue(self, observed: ClusterQueueObserved) -> None:
        """Add or change a queue; what it uses stays used."""
        self._trail.put(self._observed_queues, observed.name, observed)
        self._rebuild()

    def remove_cluster_queue(self, name: str) -> None:
        """The queue is gone; what it used counts again if it comes back."""
        self._trail.drop(self._observed_queues, name)
        self._rebuild()

    def set_cohort(self, observed: CohortObserved) -> None:
        """Add or change a cohort."""
        self._trail.put(self._observed_cohorts, observed.name, observed)
        self._rebuild()

    def remove_cohort(self, name: str) -> None:
        """The object is gone; the cohort goes on without quota of its own while it is still named."""
        self._trail.drop(self._observed_cohorts, name)
        self._rebuild()

    def node(self, cluster_queue: str) -> Node | None:
        """The node of a cluster queue."""
        return self.queues.get(cluster_queue)

    def root_of(self, cluster_queue: str) -> str:
        """The name of the queue's tree."""
        node = self.queues.get(cluster_queue)
        return cluster_queue if node is None else node.root.name

    def trees(self) -> list[str]:
        """The names of all trees, in order."""
        return sorted({node.root.name for node in (*self.queues.values(), *self.cohorts.values())})

    def members(self, root: str) -> tuple[str, ...]:
        """The cluster queues of a tree, in order."""
        top = self.cohorts.get(root) or self.queues.get(root)
        return () if top is None else tuple(sorted(leaf.name for leaf in top.leaves()))

    def cohorts_of(self, root: str) -> frozenset[str]:
        """The cohorts of a tree."""
        return frozenset(name for name, node in self.cohorts.items() if node.root.name == root)

    def cyclic(self, cluster_queue: str) -> bool:
        """Whether the queue's cohort is its own ancestor, which makes all of its members inactive."""
        observed = self._observed_queues.get(cluster_queue)
        return observed is not None and self._cyclic.get(observed.cohort, False)

    def generation(self, root: str) -> tuple[int, int]:
        """Grows with every change of quota (first) or of quota and usage (second) in the tree."""
        top = self.cohorts.get(root) or self.queues.get(root)
        return (0, 0) if top is None else (top.generation["quota"], top.generation["any"])

    def add_usage(self, cluster_queue: str, usage: Mapping[FlavorResource, int]) -> None:
        """Charge usage to a queue, and what spills over to its ancestors."""
        self._remember(cluster_queue, usage, 1)
        node = self.queues.get(cluster_queue)
        if node is None:
            return
        self._grow(node, "any")
        for fr, amount in usage.items():
            self._add(node, fr, amount)

    def remove_usage(self, cluster_queue: str, usage: Mapping[FlavorResource, int]) -> None:
        """Give usage back: the exact inverse of `add_usage`."""
        self._remember(cluster_queue, usage, -1)
        node = self.queues.get(cluster_queue)
        if node is None:
            return
        self._grow(node, "any")
        self._grow(node, "quota")
        for fr, amount in usage.items():
            self._remove(node, fr, amount)

    def _remember(self, cluster_queue: str, usage: Mapping[FlavorResource, int], sign: int) -> None:
        kept = self._usage.setdefault(cluster_queue, {})
        for fr, amount in usage.items():
            self._trail.put(kept, fr, kept.get(fr, 0) + sign * amount)

    def _add(self, node: Node, fr: FlavorResource, amount: int) -> None:
        free = node.local_available(fr)
        self._trail.put(node.usage, fr, node.usage.get(fr, 0) + amount)
        if node.parent is not None and amount > free:
            self._add(node.parent, fr, amount - free)

    def _remove(self, node: Node, fr: FlavorResource, amount: int) -> None:
        used = node.usage.get(fr, 0)
        stored = used - node.local.get(fr, 0)
        self._trail.put(node.usage, fr, used - amount)
        if node.parent is not None and stored > 0:
            self._remove(node.parent, fr, min(amount, stored))

    def _grow(self, node: Node, what: str) -> None:
        root = node.root
        self._trail.put(root.generation, what, root.generation[what] + 1)

    def _rebuild(self) -> None:
        """Lay the trees anew from what is observed: quota changes are rare, usage changes are not."""
        before = (self.queues, self.cohorts, self._cyclic)
        self._trail.note(lambda: self._put_back(*before))
        generations = {name: node.generation for name, node in (*self.queues.items(), *self.cohorts.items())}
        self.queues, self.cohorts, self._cyclic = _lay(self._observed_queues, self._observed_cohorts)
        top = 1 + max((max(generation.values()) for generation in generations.values()), default=0)
        for node in (*self.queues.values(), *self.cohorts.values()):
            node.generation = {"quota": top, "any": top}
        for name, usage in sorted(self._usage.items()):
            node = self.queues.get(name)
            if node is not None:
                for fr, amount in usage.items():
                    self._add(node, fr, amount)

    def _put_back(self, queues: dict[str, Node], cohorts: dict[str, Node], cyclic: dict[str, bool]) -> None:
        self.queues, self.cohorts, self._cyclic = queues, cohorts, cyclic


def _lay(
    queues: Mapping[str, ClusterQueueObserved], cohorts: Mapping[str, CohortObserved]
) -> tuple[dict[str, Node], dict[str, Node], dict[str, bool]]:
    named = {queue.cohort for queue in queues.values()} | {cohort.parent for cohort in cohorts.values()} | set(cohorts)
    cohort_nodes = {name: Node(name, is_queue=False) for name in sorted(named - {""})}
    cyclic = {name: _in_cycle(name, cohorts) for name in cohort_nodes}
    for name, node in cohort_nodes.items():
        observed = cohorts.get(name)
        if observed is None:
            continue
        node.weight = observed.weight
        node.quotas = quotas_of(observed.groups)
        if observed.parent and not cyclic[name]:
            _attach(node, cohort_nodes[observed.parent])
    queue_nodes: dict[str, Node] = {}
    for name in sorted(queues):
        observed_queue = queues[name]
        node = queue_nodes[name] = Node(name, is_queue=True)
        node.weight = observed_queue.weight
        node.quotas = quotas_of(observed_queue.groups)
        if observed_queue.cohort:
            _attach(node, cohort_nodes[observed_queue.cohort])
    for node in (*cohort_nodes.values(), *queue_nodes.values()):
        if node.parent is None:
            _derive(node)
    return queue_nodes, cohort_nodes, cyclic


def _attach(node: Node, parent: Node) -> None:
    node.parent = parent
    # A cohort and a cluster queue may bear the same name: keep the two apart among the children.
    parent.children[f"{'queue' if node.is_queue else 'cohort'}/{node.name}"] = node


def _derive(node: Node) -> None:
    subtree = {fr: quota.nominal for fr, quota in node.quotas.items()}
    for name in sorted(node.children):
        child = node.children[name]
        _derive(child)
        node.height = max(node.height, child.height + 1)
        for fr, amount in child.subtree.items():
            lent = subtract(amount, child.local.get(fr, 0))
            subtree[fr] = add(subtree.get(fr, 0), lent)
    node.subtree = subtree
    node.local = {
        fr: max(0, subtract(subtree[fr], quota.lending_limit))
        for fr, quota in node.quotas.items()
        if quota.lending_limit is not None
    }


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[FlavorResource, Quota]:
    """The quotas of all groups by flavor and resource."""
    return {
        (flavor.flavor, quota.resource): quota
        for group in groups
        for flavor in group.flavors
        for quota in flavor.quotas
    }


def _in_cycle(name: str, cohorts: Mapping[str, CohortObserved]) -> bool:
    """Whether walking up from a cohort never ends: it is part of a cycle, or below one."""
    seen: set[str] = set()
    while name:
        if name in seen:
            return True
        seen.add(name)
        observed = cohorts.get(name)
        name = observed.parent if observed is not None else ""
    return False
