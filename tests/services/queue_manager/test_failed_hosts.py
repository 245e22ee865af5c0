"""Hosts that fail under pods placed by topology: one is replaced, with a second one the workload goes.

Rule: docs/rules/topology.md#node-failures
"""

import pytest
from msgspec.structs import replace

from events.admission import TopologyAssigned, UnhealthyNodesChanged
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import NodeObserved, PodObserved
from events.pod_set import PodSet
from events.preemption import PreemptionOrdered
from events.quota import CheckRule, FlavorObserved
from events.selector import Effect, Taint, Toleration
from events.topology import PodTopology, TopologyAssignment, TopologyDomain, TopologyPlacement
from events.workload import (
    CheckReported,
    CheckState,
    CheckStatus,
    EvictionOrdered,
    Owner,
    PodSetAssignment,
    PodSetUpdate,
)
from projections.snapshot import tables_of, world_of
from projections.topology.placement.node_failures import stranded_pods
from tests.services.queue_manager.waiting_room import KEY, MINUTE, SECOND, SHAPE, SPEC, Room, after, settings, submitted

HOST = "kubernetes.io/hostname"


def node(name: str, *, ready: bool = True, taint: Effect | None = None) -> NodeObserved:
    taints = () if taint is None else (Taint(key="broken", value="", effect=taint),)
    return NodeObserved(name=name, labels={HOST: name}, ready=ready, taints=taints)


def placed(*hosts: str, levels: tuple[str, ...] = (HOST,)) -> tuple[PodSetAssignment, ...]:
    domains = tuple(TopologyDomain(values=(*(["r"] * (len(levels) - 1)), host), count=1) for host in hosts)
    at = TopologyAssignment(levels=levels, domains=domains)
    topology = TopologyPlacement(flavor="f", requests={"cpu": 1000}, assignment=at)
    return (PodSetAssignment(name="main", count=len(hosts), flavors={"cpu": "f"}, topology=topology),)


def running(
    *facts: AnyEvent,
    tolerations: tuple[Toleration, ...] = (),
    levels: tuple[str, ...] = (HOST,),
    owner: Owner | None = None,
    checks: tuple[CheckRule, ...] = (),
) -> Room:
    """A workload with a pod on each of the hosts a and b; c is free."""
    room = Room(node("a"), node("b"), node("c"), *facts, checks=checks)
    shape = replace(SHAPE, tolerations=tolerations)
    spec = replace(SPEC, pod_sets=(PodSet(name="main", count=2, shape=shape),))
    room.tell(submitted(spec, reserved=True, admitted_at=MINUTE, owner=owner))
    room.tell(TopologyAssigned(workload=KEY, cluster_queue="cq", assignments=placed("a", "b", levels=levels)))
    return room.tell(pod("p0", "a"), pod("p1", "b"))


def pod(name: str, host: str, *, bound: bool = True, phase: str = "Running", **more: bool) -> PodObserved:
    return PodObserved(
        namespace="team",
        name=name,
        uid=name,
        node=host if bound else "",
        phase=phase,
        workload=KEY,
        pod_set="main",
        topology=PodTopology(gated=more.get("gated", False), node_selector={HOST: host}),
        cardless=True,
        terminating=more.get("terminating", False),
    )


def failed(*hosts: str) -> list[UnhealthyNodesChanged]:
    return [UnhealthyNodesChanged(workload=KEY, nodes=hosts)]


GONE = ObjectRemoved(kind="Node", name="a")


def test_who_runs_on_healthy_hosts_runs_on() -> None:
    assert running().steps() == []
    assert running(settings()).tell(node("c", ready=False), ObjectRemoved(kind="Node", name="c")).steps() == []


def test_a_host_that_is_gone_is_to_be_replaced() -> None:
    room = running().tell(GONE)
    assert room.steps() == failed("a")
    assert room.workload.second_pass.unhealthy_nodes == ("a",)
    assert list(room.world.second_passes) == [KEY]


def test_what_belongs_to_a_single_pod_keeps_its_place_and_no_other_is_looked_for_again_and_again() -> None:
    pod_alone = Owner(kind="Pod", name="p", uid="p", api_version="v1")
    assert running(owner=pod_alone).tell(GONE).steps() == []
    replaced = settings(gates={"SkipReassignmentForPodOwnedWorkloads": False})
    assert running(replaced, owner=pod_alone).tell(GONE).step() == failed("a")


def looked_at_after(room: Room, fact: AnyEvent) -> bool:
    """Whether the workload is looked at again for a fact, when all was looked at before."""
    list(room.world.work.take_all("queue-manager"))
    return KEY in room.tell(fact).world.work.waiting("queue-manager")


def test_hosts_that_are_gone_are_noticed_when_another_node_comes_after_all_were_gone() -> None:
    room = running().tell(*(ObjectRemoved(kind="Node", name=name) for name in "abc"))
    assert room.steps() == [], "where no node is known, none is lost"
    assert looked_at_after(room, node("c"))
    evicted, *_ = room.steps()
    assert isinstance(evicted, EvictionOrdered) and evicted.message.endswith("node failures, including: a, b")


def test_where_the_last_node_goes_no_host_counts_as_failed_any_longer() -> None:
    room = running().tell(GONE)
    assert room.steps() == failed("a")
    room.tell(ObjectRemoved(kind="Node", name="b"))
    assert looked_at_after(room, ObjectRemoved(kind="Node", name="c"))
    assert room.steps() == failed()


@pytest.mark.parametrize(
    "change",
    [node("a", ready=False), node("a", taint=Effect.NO_SCHEDULE), node("a", taint=Effect.NO_EXECUTE)],
    ids=["not ready", "NoSchedule", "NoExecute"],
)
@pytest.mark.parametrize(
    "over",
    [
        pod("p0", "a", terminating=True),
        pod("p0", "a", phase="Failed"),
        ObjectRemoved(kind="Pod", namespace="team", name="p0"),
    ],
    ids=["leaving", "ended", "gone"],
)
def test_a_host_has_failed_when_no_pod_goes_on_there_and_none_may(change: NodeObserved, over: AnyEvent) -> None:
    room = running().tell(change)
    assert room.steps() == [], "its pod goes on"
    assert room.tell(over).steps() == failed("a")


def test_a_taint_counts_unless_all_pods_tolerate_it_for_ever() -> None:
    change, over = node("a", taint=Effect.NO_EXECUTE), pod("p0", "a", phase="Failed")
    tolerates = Toleration(key="broken", operator="Exists")
    assert running(tolerations=(tolerates,)).tell(change, over).steps() == []
    assert running(tolerations=(replace(tolerates, seconds=60),)).tell(change, over).steps() == failed("a")
    assert running().tell(node("a", taint=Effect.PREFER_NO_SCHEDULE), over).steps() == []


def test_pods_tolerate_what_their_flavor_and_the_checks_of_their_pod_set_have_them_tolerate() -> None:
    change, over = node("a", taint=Effect.NO_EXECUTE), pod("p0", "a", phase="Failed")
    tolerates = (Toleration(key="broken", operator="Exists"),)
    assert running(FlavorObserved(name="f", tolerations=tolerates)).tell(change, over).steps() == []
    assert running(FlavorObserved(name="other", tolerations=tolerates)).tell(change, over).steps() == failed("a")
    for pod_set, expected in (("main", []), ("other", failed("a"))):
        update = PodSetUpdate(name=pod_set, tolerations=tolerates)
        told = CheckReported(workload=KEY, check=CheckStatus(name="c", state=CheckState.READY, updates=(update,)))
        room = running(checks=(CheckRule(name="c"),)).tell(told)
        room.steps()
        assert room.tell(change, over).steps() == expected, pod_set


def test_a_host_of_which_nobody_says_whether_it_is_ready_has_failed_whoever_goes_on_there() -> None:
    assert running().tell(replace(node("a", ready=False), unreported=True)).steps() == failed("a")


def test_a_second_host_that_fails_has_the_workload_evicted() -> None:
    room = running().tell(ObjectRemoved(kind="Node", name="b"))
    assert room.steps() == failed("b")
    message = "Workload eviction triggered due to multiple TAS assigned node failures, including: b, a"
    assert room.tell(GONE).step() == [EvictionOrdered(workload=KEY, reason="NodeFailures", message=message)]
    assert room.workload.second_pass.unhealthy_nodes == (), "whatever it gets next is elsewhere"
    both = running().tell(GONE, ObjectRemoved(kind="Node", name="b"))
    (ordered,) = both.step()
    assert isinstance(ordered, EvictionOrdered) and ordered.message.endswith(": a, b")


def test_whoever_has_to_go_while_a_host_has_failed_names_it_no_more() -> None:
    for order in (
        PreemptionOrdered(workload=KEY, preemptor="team/x", reason="InClusterQueue", message=""),
        EvictionOrdered(workload=KEY, reason="PodsReadyTimeout", cause="WaitForStart", message=""),
    ):
        room = running().tell(GONE)
        assert room.steps() == failed("a")
        room.tell(order)
        assert (room.workload.second_pass.unhealthy_nodes, room.steps()) == ((), [])


def test_a_host_that_is_well_again_is_taken_out() -> None:
    room = running().tell(GONE)
    room.steps()
    assert room.tell(node("a")).steps() == failed()
    assert (room.workload.second_pass.unhealthy_nodes, list(room.world.second_passes)) == ((), [])


def test_another_assignment_forgets_what_had_failed() -> None:
    room = running().tell(GONE)
    room.steps()
    room.tell(TopologyAssigned(workload=KEY, cluster_queue="cq", assignments=placed("c", "b")))
    assert room.steps() == []


@pytest.mark.parametrize(
    ("gate", "change", "expected"),
    [
        ("TASFailedNodeReplacement", GONE, []),
        ("TASReplaceNodeOnNodeTaints", node("a", taint=Effect.NO_SCHEDULE), []),
        ("TASReplaceNodeOnPodTermination", node("a", ready=False), failed("a")),
        ("TASReplaceNodeOnPodTermination", node("a", taint=Effect.NO_SCHEDULE), failed("a")),
    ],
)
def test_gates_leave_failures_taints_or_waiting_out(
    gate: str, change: AnyEvent, expected: list[UnhealthyNodesChanged]
) -> None:
    over = [] if expected else [pod("p0", "a", phase="Failed")]
    assert running(settings(gates={gate: False})).tell(change, *over).steps() == expected


def not_ready_for(room: Room, seconds: int) -> NodeObserved:
    return replace(node("a", ready=False), not_ready_since=room.at - seconds * SECOND)


FOR_A_TIME = {"TASReplaceNodeDueToNotReadyOverFixedTime": True}
AT_ONCE = {"TASReplaceNodeOnPodTermination": False}


@pytest.mark.parametrize("gates", [FOR_A_TIME, AT_ONCE, FOR_A_TIME | AT_ONCE], ids=["over time", "at once", "both"])
@pytest.mark.parametrize("saved", [False, True], ids=["", "from a saved world"])
def test_a_host_that_is_not_ready_is_waited_for_before_pods_that_go_on_are_replaced(
    gates: dict[str, bool], *, saved: bool
) -> None:
    room = running(settings(gates=gates))
    assert room.tell(not_ready_for(room, 10)).steps() == []
    if saved:
        room.world = world_of(tables_of(room.world))
    assert after(room, 19).steps() == []
    assert KEY not in room.world.work.waiting("queue-manager")
    assert KEY in after(room, 1).world.work.waiting("queue-manager")
    assert room.steps() == failed("a")


def test_a_host_that_is_ready_again_in_time_keeps_its_pods() -> None:
    room = running(settings(gates=FOR_A_TIME))
    room.tell(not_ready_for(room, 10), node("a"))
    assert after(room, 60).steps() == []


def test_a_host_on_which_no_pod_goes_on_is_not_waited_for_unless_the_gate_says_so() -> None:
    for gates, expected in ((FOR_A_TIME, failed("a")), (AT_ONCE, [])):
        room = running(settings(gates=gates))
        assert room.tell(not_ready_for(room, 10), pod("p0", "a", phase="Failed")).steps() == expected


def test_a_node_that_does_not_say_whether_it_is_ready_is_not_waited_for() -> None:
    room = running(settings(gates=FOR_A_TIME))
    assert room.tell(node("a", ready=False)).steps() == failed("a")


def test_only_hosts_fail() -> None:
    room = running(levels=("rack", "shelf"))
    assert room.tell(GONE).steps() == []


def test_a_host_is_known_by_its_hostname_where_its_node_has_another_name() -> None:
    room = running().tell(GONE, NodeObserved(name="node-a", labels={HOST: "a"}))
    assert room.steps() == []
    list(room.world.work.take("queue-manager"))
    room.tell(ObjectRemoved(kind="Node", name="node-a"))
    assert list(room.world.work.take("queue-manager")) == [KEY]
    assert room.steps() == failed("a")


def test_pods_that_were_sent_to_a_host_and_never_get_there_are_to_end() -> None:
    def ends(*facts: AnyEvent, levels: tuple[str, ...] = (HOST,)) -> list[str]:
        room = running(levels=levels).tell(*facts)
        return [one.name for one in stranded_pods(room.world, room.workload)]

    sent = pod("p2", "a", bound=False, phase="Pending")
    elsewhere = pod("p2", "c", bound=False, phase="Pending")
    assert ends(sent) == [], "it may get there yet"
    assert ends(elsewhere) == ["p2"], "its pod set is not there any more"
    assert ends(sent, node("a", ready=False)) == ["p2"]
    assert ends(sent, node("a", taint=Effect.NO_SCHEDULE)) == ["p2"]
    assert ends(sent, GONE) == [], "what becomes of it is found out with its host"
    assert ends(pod("p2", "c", bound=False, phase="Pending", gated=True)) == []
    assert ends(pod("p2", "c", bound=False, phase="Pending", terminating=True)) == []
    assert ends(pod("p2", "c", phase="Pending")) == [], "a node has taken it"
    assert ends(pod("p2", "c", bound=False, phase="Failed")) == [], "it has ended already"
    assert ends(elsewhere, levels=("rack", "shelf")) == [], "it has named the host itself"
    of_two = (*placed("a", "b"), replace(placed("c")[0], name="other"))
    both = TopologyAssigned(workload=KEY, cluster_queue="cq", assignments=of_two)
    assert ends(both, elsewhere) == ["p2"], "only another pod set lies there"
    assert ends(both, replace(elsewhere, pod_set="")) == [], "it may be of that one"
    unnamed = replace(elsewhere, pod_set="")
    assert ends(unnamed) == ["p2"] and ends(replace(sent, pod_set="")) == [], "whoever made it names no pod set"
    assert ends(unnamed, levels=("rack", "shelf")) == []
