"""The laws of places, held at every commit: a leaf is never over its capacity, pods are placed all or none, slices stay whole.

What is free is reckoned here from the facts and from who holds what, and not asked of the ledger that decisions were made on.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from events.admission import QuotaReserved, TopologyAssigned
from events.amount import Requests
from events.catalogue import AnyEvent
from events.device import DevicesReserved, PodPlacement
from events.slices import WorkloadSliceResized
from events.topology import TopologyAssignment, TopologyPlacement, TopologyRequest
from events.workload import PodSetAssignment
from projections.devices.holdings.card_holdings import TERMINAL
from projections.log_position import LogPosition
from projections.topology.domains.tree import HOSTNAME
from projections.topology.placement.node_failures import host_of
from projections.workloads.lifecycle import chain_of
from projections.world import World

PODS = "pods"
_Host = str


class PlaceLaws:
    """Hears every event of the decisions of a partition and notes what breaks a law. Of topologies whose leaves are hosts."""

    def __init__(self, world: World) -> None:
        self.broken: list[str] = []
        self._world = world
        self._values: dict[tuple[str, _Host], tuple[str, ...]] = {}
        """By flavor and host, its domains from the widest on; also of hosts that are gone by now."""
        self._lies: dict[tuple[str, str], Counter[_Host]] = {}
        """By workload (or the first of its slices) and pod set, where its pods were placed last."""

        self._shrunk: set[str] = set()
        """Elastic jobs that have become smaller since their pods were placed, by the first of their slices."""

    def hear(self, event: AnyEvent, position: LogPosition) -> None:
        """One event; the whole commit is folded already."""
        match event:
            case WorkloadSliceResized():
                self._shrink(event.workload)
            case QuotaReserved():
                self._place(event.workload, event.assignments, position, anew=True)
                self._hold_cards(event.workload, event.assignments, event.placements, position)
            case TopologyAssigned():
                self._place(event.workload, event.assignments, position, anew=False)
                self._shrunk.discard(self._chain(event.workload))
                self._hold_cards(event.workload, event.assignments, event.placements, position)
            case DevicesReserved():
                workload = self._world.workloads.get(event.workload)
                admission = None if workload is None else workload.admission
                fits = workload is not None and not workload.resizing.shrunk
                if fits and admission is not None and admission.reservation == event.reservation:
                    self._hold_cards(event.workload, admission.assignments, event.placements, position)
            case _:
                pass

    def _chain(self, key: str) -> str:
        """The first slice of an elastic job; any other workload itself."""
        workload = self._world.workloads.get(key)
        return key if workload is None or not workload.spec.elastic else chain_of(workload)

    def _shrink(self, key: str) -> None:
        """The first of its pods are to stay, until it is seen which ones do."""
        workload = self._world.workloads.get(key)
        if workload is None or workload.admission is None:
            return
        chain = self._chain(key)
        self._shrunk.add(chain)
        for one in workload.admission.assignments:
            if one.topology is not None and (chain, one.name) in self._lies:
                self._lies[chain, one.name] = _by_host(one.topology.assignment)

    def _place(self, key: str, assignments: Sequence[PodSetAssignment], position: LogPosition, *, anew: bool) -> None:
        workload = self._world.workloads.get(key)
        if workload is None:
            return
        chain = self._chain(key)
        asked = {one.name: one.topology for one in workload.spec.pod_sets}
        shrunk = chain in self._shrunk and self._lie_there(key, assignments, anew=anew)
        for one in assignments:
            lies = self._lies.pop((chain, one.name), Counter())
            if one.topology is None or one.topology.assignment.levels[-1:] != (HOSTNAME,):
                continue
            pods = _by_host(one.topology.assignment)
            self._lies[chain, one.name] = pods
            self._learn(one.topology.flavor, pods)
            request = asked.get(one.name)
            # Pods beyond the last whole slice get no place (docs/rules/topology.md#slice-placement).
            beyond = one.count % request.slices[0].size if request is not None and request.slices else 0
            if pods.total() != one.count - beyond:
                self._report(position, f"places {pods.total()} of {one.count} pods of {key}")
            if request is not None:
                self._hold_request(key, one.topology, request, position)
            if not anew and lies and not shrunk:
                self._hold_replacement(key, pods, lies, position)
            stays = lies if workload.spec.elastic or not anew else Counter[_Host]()
            # After a shrink pods that stay are where they are, whoever has been let in there meanwhile.
            stays = pods if shrunk else stays
            for host in sorted(pods):
                if pods[host] > stays[host]:
                    self._hold_capacity(one.topology, host, position)

    def _lie_there(self, key: str, assignments: Sequence[PodSetAssignment], *, anew: bool) -> bool:
        """Whether all pods that stay after a shrink lie where pods are placed from now on, with their cards."""
        for one in assignments:
            if anew or one.topology is None:
                continue
            lie = Counter(
                pod.topology.node_selector.get(HOSTNAME, "")
                for pod in self._world.pods.values()
                if pod.workload == key and pod.pod_set == one.name and pod.topology is not None
                if not pod.topology.gated and pod.phase not in TERMINAL
            )
            if lie - _by_host(one.topology.assignment):
                return False
        return not anew

    def _hold_cards(
        self,
        key: str,
        assignments: Sequence[PodSetAssignment],
        placements: Sequence[PodPlacement],
        position: LogPosition,
    ) -> None:
        """Cards are on the hosts that the pods are sent to, for as many pods of each, but for pods that are done."""
        workload = self._world.workloads[key]
        for one in assignments:
            done = workload.admission.given_back.get(one.name, 0) if workload.admission is not None else 0
            given = Counter(host_of(self._world, each.node) for each in placements if each.pod_set == one.name)
            if given and one.topology is not None and one.topology.assignment.levels[-1:] == (HOSTNAME,):
                pods = _by_host(one.topology.assignment)
                if given - pods or (pods - given).total() > done:
                    self._report(position, f"gives pods of {key} cards on {dict(given)} and sends them to {dict(pods)}")

    def _hold_request(
        self, key: str, placed: TopologyPlacement, request: TopologyRequest, position: LogPosition
    ) -> None:
        """One domain where one is required, and each slice within one domain of its level."""
        levels = self._levels(placed.flavor)
        if request.required:
            domains = self._in_domains(placed, levels.index(request.required))
            if len(domains) > 1:
                self._report(position, f"places {key} in {len(domains)} domains of {request.required}: {domains}")
        for layer in request.slices:
            for domain, count in self._in_domains(placed, levels.index(layer.topology)).items():
                if count % layer.size:
                    self._report(
                        position, f"splits a slice of {layer.size} pods of {key}: {count} in {'/'.join(domain)}"
                    )

    def _hold_replacement(
        self, key: str, pods: Mapping[_Host, int], lies: Mapping[_Host, int], position: LogPosition
    ) -> None:
        """Pods of one host go elsewhere, and all others stay; that those lie in one domain with these is a law of its own."""
        moved = [host for host, count in lies.items() if pods.get(host, 0) < count]
        if len(moved) > 1 or any(pods.get(host) for host in moved):
            self._report(position, f"moves pods of {key} that had a host: from {dict(lies)} to {dict(pods)}")

    def _hold_capacity(self, placed: TopologyPlacement, host: _Host, position: LogPosition) -> None:
        """The host has room for all that lies there, of what is asked for by whoever is placed: of other things pods of others may have taken more."""
        nodes = [one for one in self._world.nodes.values() if one.labels.get(HOSTNAME) == host]
        left: Counter[str] = Counter()
        for node in nodes:
            left.update(node.allocatable)
            left.subtract(self._world.node_usage.get(node.name, {}))
        for held in self._world.domains.held().values():
            for one in held:
                count = _by_host(one.assignment)[host]
                if count:
                    left.subtract(_times({**one.requests, PODS: 1}, count))
        # Resources that count cards are none of what a node offers: the laws of cards hold for them.
        over = {
            resource: -left[resource]
            for resource in sorted({*placed.requests, PODS})
            if left[resource] < 0 and any(resource in node.allocatable for node in nodes) and not _of_cards(resource)
        }
        if over or not nodes:
            self._report(
                position, f"lets more pods of flavor {placed.flavor} lie on {host} than it has room for: {over}"
            )

    def _in_domains(self, placed: TopologyPlacement, level: int) -> Counter[tuple[str, ...]]:
        found: Counter[tuple[str, ...]] = Counter()
        for host, count in _by_host(placed.assignment).items():
            values = self._values.get((placed.flavor, host), (f"nowhere: {host}",))
            found[values[: level + 1]] += count
        return found

    def _learn(self, flavor: str, hosts: Mapping[_Host, int]) -> None:
        """Labels of a host stand for as long as it is there, and what was placed there remembers them."""
        levels = self._levels(flavor)
        for node in self._world.nodes.values():
            host = node.labels.get(HOSTNAME)
            if host is not None and host in hosts and all(level in node.labels for level in levels):
                self._values[flavor, host] = tuple(node.labels[level] for level in levels)

    def _levels(self, flavor: str) -> tuple[str, ...]:
        return self._world.topologies[self._world.flavors[flavor].topology].levels

    def _report(self, position: LogPosition, what: str) -> None:
        self.broken.append(f"{position.partition}/{position.sequence} {what}")


def _by_host(assignment: TopologyAssignment) -> Counter[_Host]:
    found: Counter[_Host] = Counter()
    for one in assignment.domains:
        found[one.values[-1]] += one.count
    return found


def _times(amounts: Mapping[str, int], count: int) -> Requests:
    return {resource: amount * count for resource, amount in amounts.items()}


def _of_cards(resource: str) -> bool:
    return resource.startswith("nvidia.com/")
