"""What people look at: queues, workloads and usage as rows, as they stand in a folded world."""

from collections.abc import Iterator

import msgspec

from events.event import Millis
from projections.explanation.words import in_numbers
from projections.queues.state import QueueState
from projections.quota.node import Node
from projections.quota.tree import QuotaTree
from projections.workloads.lifecycle import Workload


class QueueRow(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster queue as lists of `kuelog`, the console and the visibility API show it."""

    name: str
    cohort: str
    tree: str
    strategy: str
    stop: str
    waiting: int
    parked: int
    reserved: int
    """Workloads that hold quota."""
    admitted: int


class WorkloadRow(msgspec.Struct, frozen=True, kw_only=True):
    """A workload as lists of `kuelog`, the console and the visibility API show it."""

    key: str
    job: str
    queue: str
    cluster_queue: str
    priority: int
    state: str
    reason: str
    since: Millis
    flavors: tuple[str, ...] = ()
    preempted: int = 0


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a node of the quota tree owns and uses of one resource of one flavor, in its units; -1 stands for no bound."""

    node: str
    tree: str
    flavor: str
    resource: str
    nominal: int
    used: int
    borrowed: int
    available: int


def tree_names(quota: QuotaTree) -> list[str]:
    """The names by which trees can be asked for."""
    return [key.partition("/")[2] for key in quota.trees()]


def in_tree(quota: QuotaTree, cluster_queue: str, tree: str) -> bool:
    """Whether a queue belongs to the tree of that name, or whether no tree is asked for."""
    root = quota.root_of(cluster_queue)
    return not tree or tree in (root, root.partition("/")[2])


def queue_rows(world: QueueState, tree: str = "") -> list[QueueRow]:
    """A row for each cluster queue by name, of one tree if it is named."""
    rows: list[QueueRow] = []
    for name, queue in sorted(world.cluster_queues.items()):
        if not in_tree(world.quota, name, tree):
            continue
        line, holders = world.lines.of(name), world.holders(name)
        rows.append(
            QueueRow(
                name=name,
                cohort=queue.cohort,
                tree=world.quota.root_of(name).partition("/")[2],
                strategy=queue.strategy.value,
                stop=queue.stop.value,
                waiting=len(line.waiting),
                parked=line.parked_count,
                reserved=len(holders),
                admitted=sum(world.workloads[key].admitted for key in holders),
            )
        )
    return rows


def workload_rows(world: QueueState, tree: str = "") -> list[WorkloadRow]:
    """A row for each workload by key, of one tree if it is named."""
    rows: list[WorkloadRow] = []
    for _, workload in sorted(world.workloads.items()):
        queue = cluster_queue_name(world, workload)
        if tree and not in_tree(world.quota, queue, tree):
            continue
        rows.append(workload_row(world, workload))
    return rows


def workload_row(world: QueueState, workload: Workload) -> WorkloadRow:
    """A workload as a row of such a list."""
    state = state_of(workload)
    assignments = workload.admission.assignments if workload.admission is not None else ()
    return WorkloadRow(
        key=workload.key,
        job=workload.job,
        queue=workload.local_queue,
        cluster_queue=cluster_queue_name(world, workload),
        priority=workload.priority,
        state=state.word,
        reason=state.reason,
        since=state.since,
        flavors=tuple(sorted({flavor for one in assignments for flavor in one.flavors.values()})),
        preempted=workload.stops.preempted_count,
    )


def usage_rows(world: QueueState, tree: str = "") -> list[UsageRow]:
    """What every node of the quota trees owns and uses, cohorts first."""
    rows: list[UsageRow] = []
    for node in (*world.quota.cohorts.values(), *world.quota.queues.values()):
        name = node.root.name
        if not tree or tree in (node.root.key, name):
            rows.extend(_usage_of(world.quota, node))
    return sorted(rows, key=lambda one: (one.tree, one.node, one.flavor, one.resource))


def _usage_of(quota: QuotaTree, node: Node) -> Iterator[UsageRow]:
    for column, (flavor, resource) in enumerate(quota.columns.names):
        if column >= len(node.usage) or not (node.subtree[column] or node.usage[column]):
            continue
        yield UsageRow(
            node=node.key,
            tree=node.root.name,
            flavor=flavor,
            resource=resource,
            nominal=in_numbers(node.nominal[column]),
            used=node.usage[column],
            borrowed=node.borrowed(column),
            # A cohort that uses more than it has may use nothing more; -1 would read as no bound.
            available=in_numbers(max(0, node.available(column))),
        )


class ShownState(msgspec.Struct, frozen=True):
    """The state of a workload in one word, why, and since when."""

    word: str
    reason: str
    since: Millis


def state_of(workload: Workload) -> ShownState:
    """How a workload stands in one word, why, and since when."""
    for kind, state in (("Finished", "finished"), ("Evicted", "stopping")):
        condition = workload.condition(kind)
        if condition is not None and workload.is_true(kind) and (kind == "Finished" or workload.reserved):
            return ShownState(state, condition.reason, condition.since)
    if workload.admitted:
        condition = workload.condition("PodsReady")
        if condition is not None and workload.is_true("PodsReady"):
            return ShownState("running", "", condition.since)
        return ShownState("admitted", "", workload.admitted_at or 0)
    if workload.admission is not None:
        return ShownState("reserved", "", workload.admission.reserved_at)
    condition = workload.condition("QuotaReserved")
    if not workload.spec.active:
        return ShownState(
            "inactive",
            condition.reason if condition is not None else "",
            condition.since if condition is not None else 0,
        )
    return ShownState(
        "pending",
        condition.reason if condition is not None else "",
        condition.since if condition is not None else workload.created_at,
    )


def cluster_queue_name(world: QueueState, workload: Workload) -> str:
    """The cluster queue that a workload holds quota of, or waits for; empty where there is none."""
    if workload.admission is not None:
        return workload.admission.cluster_queue
    queue = world.cluster_queue_of(workload)
    return workload.line or (queue.name if queue is not None else "")
