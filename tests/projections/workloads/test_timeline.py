"""A line of a workload's life says where its pods lie."""

from events.admission import QuotaReserved, TopologyAssigned, UnhealthyNodesChanged
from events.topology import TopologyAssignment, TopologyDomain, TopologyPlacement
from events.workload import PodSetAssignment
from projections.workloads.timeline import describe


def placed(**hosts: int) -> PodSetAssignment:
    domains = tuple(TopologyDomain(values=(name,), count=count) for name, count in hosts.items())
    assignment = TopologyAssignment(levels=("kubernetes.io/hostname",), domains=domains)
    topology = TopologyPlacement(flavor="racked", assignment=assignment)
    return PodSetAssignment(name="main", count=sum(hosts.values()), flavors={"cpu": "racked"}, topology=topology)


def test_a_reservation_names_the_domains_of_the_pods() -> None:
    event = QuotaReserved(workload="team/w", cluster_queue="cq", assignments=(placed(a=2, b=1),))
    assert describe(event) == ("quota reserved", "cq, racked: 2 pod(s) of main on a, 1 pod(s) of main on b")


def test_a_host_that_fails_and_the_place_that_is_found_instead_are_moments() -> None:
    assert describe(UnhealthyNodesChanged(workload="team/w", nodes=("a",))) == ("host failed", "a")
    assert describe(UnhealthyNodesChanged(workload="team/w", nodes=())) == ("hosts are well again", "")
    moved = TopologyAssigned(workload="team/w", cluster_queue="cq", assignments=(placed(c=3),))
    assert describe(moved) == ("placed", "3 pod(s) of main on c")


def test_of_many_domains_the_first_are_named() -> None:
    event = TopologyAssigned(workload="w", cluster_queue="cq", assignments=(placed(**{f"h{i}": 1 for i in range(10)}),))
    told = describe(event)
    assert told is not None and told[1].endswith("1 pod(s) of main on h7 and 2 more domains")
