"""Workloads that run where nothing can run any more: their node is lost, or a card that they were given has failed or is gone.

The rules are in docs/rules/eviction.md#node-failures and docs/rules/topology.md#node-failures: who ran on a node that is gone has
to go, or is placed on another; on one that is not ready, or keeps pods off, who has no pod left there that goes on.
"""

from collections.abc import Iterable, Sequence

from events.device import NodeObserved, PodObserved, PodPlacement
from events.event import Millis
from events.selector import Toleration
from events.topology import TopologyPlacement
from events.workload import PodSetAssignment
from projections.devices.annotations.allocated_cards import vendor_word
from projections.devices.holdings.card_holdings import TERMINAL, holding_key
from projections.devices.placement.hanging_pods import workloads_hanging_on
from projections.devices.placement.slice_cards import holds_too_many
from projections.devices.vendors.table import BY_WORD
from projections.devices.vendors.vendor import Encoding
from projections.feature_gates import enabled
from projections.nodes.affinity import first_untolerated
from projections.topology.domains.tree import HOSTNAME
from projections.topology.requests.gates import topology_gates
from projections.topology.state import TopologyState
from projections.workloads.lifecycle import Devices, Workload
from projections.workloads.pods import is_single_pod
from projections.workloads.second_pass import failed_nodes

NOT_READY_FOR: Millis = 30_000
"""So long a node is not ready before it is replaced whoever goes on there (docs/rules/topology.md#not-ready)."""


def lost_place(world: TopologyState, workload: Workload) -> str:
    """What a workload has lost of the cards that it was given, as the message of its eviction; empty when nothing."""
    unplaced = failed_nodes(workload) if workload.second_pass.failures else ()
    if unplaced and enabled(world.settings, "TASFailedNodeReplacementFailFast"):
        return f"Workload was evicted as there was no replacement for unhealthy node(s): {','.join(unplaced)}"
    if workload.devices is None or not workload.devices.placements:
        return ""
    placements = _of_those_that_stay(world, workload, _given(world, workload, workload.devices))
    nodes = sorted({one.node for one in placements} - _replaced(world, workload, placements))
    lost = [node for node in nodes if _lost(world, workload, node)]
    if lost:
        return f"Workload was evicted as there was no replacement for unhealthy node(s): {','.join(lost)}"
    failed = sorted(set(_failed_cards(world, _of_those_that_stay(world, workload, workload.devices.placements))))
    return f"Workload was evicted as there was no replacement for failed card(s): {','.join(failed)}" if failed else ""


def _given(world: TopologyState, workload: Workload, devices: Devices) -> tuple[PodPlacement, ...]:
    """The cards that were given, or those that are proposed instead of them."""
    holding = world.cards.holdings.get(holding_key(workload.key, devices.reservation))
    return devices.placements if holding is None else holding.placements


def _of_those_that_stay(
    world: TopologyState, workload: Workload, placements: Sequence[PodPlacement]
) -> Sequence[PodPlacement]:
    """Without the cards of pods too many of a job that has become smaller, on hosts where none of its pods is to lie.

    Rule: docs/rules/topology.md#shrunk
    """
    if workload.admission is None or not holds_too_many(workload):
        return placements
    given = {one.name: one for one in workload.admission.assignments}
    return tuple(
        one
        for one in placements
        if not _by_host(given[one.pod_set]) or _on(given[one.pod_set], host_of(world, one.node))
    )


def _replaced(world: TopologyState, workload: Workload, placements: Sequence[PodPlacement]) -> set[str]:
    """The nodes for which others are looked for when they fail: those where all who were given cards lie by topology.

    Rule: docs/rules/topology.md#card-replacement
    """
    if workload.admission is None or not enabled(world.settings, "TASFailedNodeReplacement"):
        return set()
    if is_single_pod(workload):
        return set()
    given = {one.name: one for one in workload.admission.assignments}
    apart = {one.node for one in placements if not _on(given[one.pod_set], host_of(world, one.node))}
    return {one.node for one in placements} - apart


def host_of(world: TopologyState, node: str) -> str:
    """The hostname of a node; of one that is gone its name, which is that almost always."""
    known = world.nodes.get(node)
    return node if known is None else known.labels.get(HOSTNAME, node)


def unhealthy_nodes(world: TopologyState, workload: Workload, at: Millis) -> tuple[str, ...]:
    """The hosts that a workload is placed on by topology and whose pods are to go elsewhere, in the order of its domains.

    Rule: docs/rules/topology.md#node-failures
    """
    if workload.admission is None or not world.nodes or not enabled(world.settings, "TASFailedNodeReplacement"):
        return ()
    if is_single_pod(workload) and topology_gates(world.settings).keep_pod_owned:
        return ()  # Nobody would make that pod anew: it keeps its place.
    hosts: dict[str, list[PodSetAssignment]] = {}
    for one in workload.admission.assignments:
        if one.topology is not None and one.topology.assignment.levels[-1:] == (HOSTNAME,):
            for domain in one.topology.assignment.domains:
                hosts.setdefault(domain.values[-1], []).append(one)
    return tuple(host for host, placed in hosts.items() if _unhealthy(world, workload, host, placed, at))


def lost_hosts(world: TopologyState, workload: Workload, at: Millis) -> frozenset[str]:
    """The hosts on which pods of a workload lie, have cards or are to lie, and where none of them can go on."""
    if workload.admission is None or not world.nodes or not enabled(world.settings, "TASFailedNodeReplacement"):
        return frozenset()
    placed = [one for one in workload.admission.assignments if _by_host(one)]
    hosts = {host for one in placed if one.topology is not None for host in _hosts(one.topology)}
    for key in world.placed_pods.get(workload.key, ()):
        pod = world.pods[key]
        if pod.topology is not None and not pod.topology.gated:
            hosts.add(pod.topology.node_selector.get(HOSTNAME, ""))
    if workload.devices is not None:
        hosts.update(host_of(world, one.node) for one in workload.devices.placements)
    return frozenset(host for host in hosts if host and _unhealthy(world, workload, host, placed, at))


def stranded_pods(world: TopologyState, workload: Workload) -> tuple[PodObserved, ...]:
    """The pods of a workload that were sent to a host by name and will never get there: they are to end, so that others come.

    Rule: docs/rules/topology.md#stranded-pods
    """
    if workload.admission is None or not workload.should_run:
        return ()
    found: list[PodObserved] = []
    given = {one.name: one for one in workload.admission.assignments}
    for key in sorted(world.placed_pods.get(workload.key, ())):
        pod = world.pods[key]
        host = pod.topology.node_selector.get(HOSTNAME) if pod.topology is not None else None
        waits = pod.topology is not None and not (pod.node or pod.terminating or pod.topology.gated)
        if host is None or not waits or pod.phase != "Pending":
            continue
        named = [given[pod.pod_set]] if pod.pod_set in given else given.values()
        placed = [one for one in named if _by_host(one)]
        if not placed:
            continue  # It has named the host itself.
        node, there = _node_of(world, host), [one for one in placed if _on(one, host)]
        if not there or node is not None and (not node.ready or _keeps_off(world, workload, node, there)):
            found.append(pod)
    return tuple(found)


def review_places(world: TopologyState, node: str) -> None:
    """Have those looked at that were given cards or domains of a node: something happened to it.

    With the first node that is known, and the last, everybody is: where none is known, none counts as lost.
    """
    all_of_them = world.nodes.keys() == {node}
    for holding in world.cards.holdings.values():
        if all_of_them or any(one.node == node for one in holding.placements):
            world.work.mark_dirty(holding.workload)
    for workload in workloads_hanging_on(world, node):
        world.work.mark_dirty(workload)
    known = world.nodes.get(node)
    hosts = {node} if known is None else {node, known.labels.get(HOSTNAME, node)}
    for workload, placements in world.domains.held().items():
        if all_of_them or any(domain.values[-1] in hosts for one in placements for domain in one.assignment.domains):
            world.work.mark_dirty(workload)


def review_owner(world: TopologyState, pod: str) -> None:
    """Have the workload looked at whose pod is gone."""
    gone = world.pods.get(pod)
    if gone is not None and gone.workload in world.workloads:
        world.work.mark_dirty(gone.workload)


def _unhealthy(
    world: TopologyState, workload: Workload, host: str, placed: Sequence[PodSetAssignment], at: Millis
) -> bool:
    node = _node_of(world, host)
    if node is None or node.unreported:
        return True
    waits_for_pods = enabled(world.settings, "TASReplaceNodeOnPodTermination")
    if not node.ready:
        for_a_time = enabled(world.settings, "TASReplaceNodeDueToNotReadyOverFixedTime") or not waits_for_pods
        if for_a_time and at >= node.not_ready_since + NOT_READY_FOR:
            return True
        return waits_for_pods and not _goes_on(world, workload, node.name)
    keeps_off = _keeps_off(world, workload, node, placed)
    return keeps_off and (not waits_for_pods or not _goes_on(world, workload, node.name))


def _node_of(world: TopologyState, host: str) -> NodeObserved | None:
    """The node of a host: by its name, which is its hostname almost always."""
    found = world.nodes.get(host)
    if found is not None and found.labels.get(HOSTNAME, host) == host:
        return found
    named = (one for one in world.nodes.values() if one.labels.get(HOSTNAME) == host)
    return min(named, key=lambda one: one.name, default=None)


def _keeps_off(
    world: TopologyState, workload: Workload, node: NodeObserved, placed: Sequence[PodSetAssignment]
) -> bool:
    """Whether the node has a taint that pods of these pod sets don't tolerate, or not for ever."""
    if not node.taints or not enabled(world.settings, "TASReplaceNodeOnNodeTaints"):
        return False
    return any(first_untolerated(node.taints, _for_ever(world, workload, one)) is not None for one in placed)


def _for_ever(world: TopologyState, workload: Workload, placed: PodSetAssignment) -> tuple[Toleration, ...]:
    """What the pods tolerate without an end: of their template, of their flavors, and what checks have added."""
    template = next((one.shape.tolerations for one in workload.spec.pod_sets if one.name == placed.name), ())
    names = sorted(set(placed.flavors.values()))
    flavors = (one for name in names if (found := world.flavors.get(name)) is not None for one in found.tolerations)
    added = (
        one
        for name in sorted(workload.checks)
        for update in workload.checks[name].updates
        if update.name == placed.name
        for one in update.tolerations
    )
    return tuple(one for one in (*template, *flavors, *added) if one.seconds is None)


def _on(placed: PodSetAssignment, host: str) -> bool:
    return placed.topology is not None and _by_host(placed) and host in _hosts(placed.topology)


def _by_host(placed: PodSetAssignment) -> bool:
    return placed.topology is not None and placed.topology.assignment.levels[-1:] == (HOSTNAME,)


def _hosts(placed: TopologyPlacement) -> set[str]:
    return {one.values[-1] for one in placed.assignment.domains}


def _lost(world: TopologyState, workload: Workload, node: str) -> bool:
    known = world.nodes.get(node)
    if known is None:
        return bool(world.nodes)  # Where no node was ever reported, none was lost.
    return not known.ready and not _goes_on(world, workload, node)


def _goes_on(world: TopologyState, workload: Workload, node: str) -> bool:
    """Whether some pod of it is on the node, has not ended and is not being deleted."""
    for key in (*world.cards.living.get(workload.key, ()), *world.placed_pods.get(workload.key, ())):
        pod = world.pods.get(key)
        if pod is not None and pod.node == node and not pod.terminating and pod.phase not in TERMINAL:
            return True
    return False


def _failed_cards(world: TopologyState, placements: Sequence[PodPlacement]) -> Iterable[str]:
    """Cards that are reported as failed, and those that their node no longer registers beside others of the vendor.

    A node that registers none of a vendor's cards says nothing about them, as HAMi takes it
    (docs/rules/eviction.md#failed-cards): a plugin that is replaced leaves what runs alone. Cards that are only counted
    have no UUIDs of their own: when there are fewer, it is not known which are gone.
    """
    for placement in placements:
        registered = world.cards.nodes.get(placement.node)
        cards = {card.uuid: card for card in registered.cards} if registered is not None else {}
        named = {card.vendor for card in cards.values() if _has_uuids(card.vendor)}
        for share in (share for shares in placement.containers for share in shares):
            card = cards.get(share.uuid)
            if not card.healthy if card is not None else vendor_word(share) in named:
                yield share.uuid


def _has_uuids(word: str) -> bool:
    vendor = BY_WORD.get(word)
    return vendor is not None and vendor.encoding is not Encoding.CAPACITY
