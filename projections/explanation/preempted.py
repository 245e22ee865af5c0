"""What a preemption looked like when it was asked for: which workloads were considered, and the shares before and after."""

from events.admission import PreemptionRequested
from projections.explanation.words import ShareChange
from projections.fair_sharing.share import share_of
from projections.quota.charge_quota import charged_amounts
from projections.quota.columns import Column, Usage
from projections.quota.node import Node
from projections.quota.state import QuotaState
from projections.quota.tree import QuotaTree


def standings(world: QuotaState, request: PreemptionRequested) -> tuple[ShareChange, ...]:
    """The nodes that the preemption changes, on the world that the request was made on; it is left as it was."""
    node = world.quota.node(request.cluster_queue)
    if node is None:
        return ()
    usage = _usage(world.quota, request)
    victims = [found for victim in request.victims if (found := _held(world, victim.workload)) is not None]
    nodes = _nodes(node, [one for one, _ in victims])
    columns = [column for column in usage if any(column in held for _, held in victims)]
    before = _figures(world.quota, nodes, columns)
    with world.trial():
        for one, held in victims:
            for column, amount in held.items():
                one.discharge(world.trail, column, amount)
        for column, amount in usage.items():
            node.charge(world.trail, column, amount)
        after = _figures(world.quota, nodes, columns)
    names = world.quota.columns.names
    return tuple(
        ShareChange(
            node=one.key,
            flavor=names[column][0],
            resource=names[column][1],
            owned=one.subtree[column],
            used_before=before[one.key, column][0],
            used_after=after[one.key, column][0],
            share_before=before[one.key, column][1],
            share_after=after[one.key, column][1],
        )
        for one in nodes
        for column in columns
    )


def _figures(quota: QuotaTree, nodes: list[Node], columns: list[Column]) -> dict[tuple[str, Column], tuple[int, str]]:
    names = quota.columns.names
    shares = {node.key: share_of(node, names).as_text() for node in nodes}
    return {(node.key, column): (node.usage[column], shares[node.key]) for node in nodes for column in columns}


def _usage(quota: QuotaTree, request: PreemptionRequested) -> Usage:
    return {
        column: amount
        for name, amount in charged_amounts(request.assignments).items()
        if (column := quota.columns.known(*name)) is not None
    }


def _held(world: QuotaState, key: str) -> tuple[Node, Usage] | None:
    workload = world.workloads.get(key)
    if workload is None or workload.admission is None:
        return None
    node = world.quota.node(workload.admission.cluster_queue)
    held = world.holders(workload.admission.cluster_queue).usage.get(key)
    return None if node is None or held is None else (node, held)


def _nodes(preemptor: Node, victims: list[Node]) -> list[Node]:
    """The queues of both sides and the cohorts above them, the preemptor's first, each once."""
    found: dict[str, Node] = {preemptor.key: preemptor}
    found.update({node.key: node for node in victims})
    for node in (preemptor, *victims):
        found.update({one.key: one for one in node.path})
    return list(found.values())
