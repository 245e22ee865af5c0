import pytest

from events.admission import SecondPassFailed, TopologyAssigned
from events.control import ObjectRemoved
from events.json_object import JsonObject
from events.workload import EvictionOrdered, WorkloadDeleted
from ops.queries.explaining import explain
from projections.explanation.words import Tier
from services.admitter.second_pass import second_passes
from services.queue_manager.reconcile import reconcile
from tests.cases.situation import played
from tests.conformance.kueue.case_world import CaseWorld

FULL: JsonObject = {
    "flavors": {"default": {"nodeLabels": {"pool": "gpu"}, "topologyName": "dc"}},
    "topologies": {"dc": ["kubernetes.io/hostname"]},
    "nodes": {"x1": {"pool": "gpu", "cpu": 2, "ready": False}, "x2": {"pool": "gpu", "cpu": 2}},
    "queues": {"a": {"quota": {"cpu": {"default": 9}}}},
    "running": {
        "old": {
            "queue": "a",
            "cpu": 2,
            "count": 2,
            "hosts": {"x1": 1, "x2": 1},
            "failed_nodes": ["x1"],
            "topology": {"preferred": "kubernetes.io/hostname"},
        }
    },
}
WAITING: JsonObject = {
    **{name: FULL[name] for name in ("flavors", "topologies")},
    "nodes": {"x1": {"pool": "gpu", "cpu": 2}},
    "autoscalers": ["nodes"],
    "queues": {
        "a": {
            "quota": {"cpu": {"default": 9}},
            "admissionChecksStrategy": {"admissionChecks": [{"name": "nodes"}]},
        }
    },
    "running": {
        "new": {
            "queue": "a",
            "cpu": 2,
            "delayed": True,
            "ready": ["nodes"],
            "topology": {"required": "kubernetes.io/hostname"},
        }
    },
}
LATER = {"gates": {"TASFailedNodeReplacementFailFast": False}}
WHY = "couldn't assign flavors to pod set main: cannot find replacement assignment for unhealthy node: x1"


def passes(at: CaseWorld) -> list[SecondPassFailed | TopologyAssigned]:
    found: list[SecondPassFailed | TopologyAssigned] = []
    with at.world.trial():
        for one in second_passes(at.world, at.world.quota.trees(), at.now):
            assert isinstance(one, SecondPassFailed | TopologyAssigned)
            found.append(one)
    return found


def test_one_that_finds_no_other_node_is_evicted() -> None:
    at = played(FULL)
    (ordered,) = reconcile(at.world, at.world.workloads["default/old"], at.now)
    assert isinstance(ordered, EvictionOrdered)
    assert (ordered.reason, ordered.message) == (
        "NodeFailures",
        "Workload was evicted as there was no replacement for unhealthy node(s): x1",
    )


def test_without_the_gate_it_is_tried_again_later_and_later() -> None:
    at = played({**FULL, **LATER})
    old = at.world.workloads["default/old"]
    assert (old.second_pass.failures, old.second_pass.again_at - at.now) == (1, 1_000)
    assert not reconcile(at.world, old, at.now)
    assert not passes(at)
    waited: list[int] = []
    for _ in range(6):
        at.now = at.world.workloads["default/old"].second_pass.again_at
        (failed,) = passes(at)
        assert isinstance(failed, SecondPassFailed)
        waited.append(failed.again_at - at.now)
        at.fold([failed])
    assert waited == [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]


def test_a_node_that_comes_in_time_is_taken_and_the_failed_one_forgotten() -> None:
    at = played({**FULL, **LATER})
    (there,) = [one for one in at.world.nodes.values() if one.name == "x2"]
    at.fold(
        [type(there)(name="x3", labels={**there.labels, "kubernetes.io/hostname": "x3"}, allocatable=there.allocatable)]
    )
    at.now = at.world.workloads["default/old"].second_pass.again_at
    (found,) = passes(at)
    assert isinstance(found, TopologyAssigned)
    at.fold([found])
    old = at.world.workloads["default/old"]
    assert (old.second_pass.unhealthy_nodes, old.second_pass.failures) == ((), 0)
    assert not passes(at)


def test_one_whose_flavor_has_a_topology_no_more_finds_no_other_node() -> None:
    at = played({**FULL, **LATER})
    at.fold([ObjectRemoved(kind="Topology", name="dc")])
    at.now = at.world.workloads["default/old"].second_pass.again_at
    (failed,) = passes(at)
    assert isinstance(failed, SecondPassFailed)
    assert failed.message == "couldn't assign flavors to pod set main: no TAS flavor assigned"


def test_who_has_its_checks_and_finds_no_domain_says_that_a_topology_is_pending() -> None:
    new = played({**WAITING, "nodes": {"x1": {"pool": "gpu", "cpu": 1}}}).world.workloads["default/new"]
    assert new.second_pass.failures == 1 and not new.admitted
    told = new.conditions["Admitted"]
    assert (told.status, told.reason, told.message) == (
        "False",
        "PendingDelayedTopologyRequests",
        "There are pending delayed topology requests",
    )


def test_who_has_its_checks_and_finds_no_domain_is_told_so_and_not_to_wait_for_cards() -> None:
    at = played({**WAITING, "nodes": {"x1": {"pool": "gpu", "cpu": 1}}})
    found = explain(at.world, at.world.workloads["default/new"], at.now)
    assert (found.tier, found.reason) == (Tier.TOPOLOGY, "PendingDelayedTopologyRequests")
    assert found.message.endswith(
        'topology "dc" doesn\'t allow to fit any of 1 pod(s). Total nodes: 1; excluded: resource "cpu": 1'
    )
    assert found.waits_for == ("its pods to be placed, tried again at 2026-01-01T00:00:01Z",)


def test_who_was_kept_from_hosts_of_another_tree_gets_them_when_the_one_that_waited_for_them_is_gone() -> None:
    on_one_host = {"required": "kubernetes.io/hostname"}
    checked: JsonObject = {"admissionChecksStrategy": {"admissionChecks": [{"name": "nodes"}]}}
    waiting: JsonObject = {
        **{name: FULL[name] for name in ("flavors", "topologies")},
        "nodes": {"x1": {"pool": "gpu", "cpu": 4}},
        "autoscalers": ["nodes"],
        "queues": {"a": {"quota": {"cpu": {"default": 9}}, **checked}, "b": {"quota": {"cpu": {"default": 9}}}},
        "running": {
            "old": {"queue": "b", "cpu": 2, "hosts": {"x1": 1}, "topology": on_one_host},
            "new": {"queue": "a", "cpu": 4, "delayed": True, "ready": ["nodes"], "topology": on_one_host},
        },
        "waiting": {"small": {"queue": "b", "cpu": 2, "topology": on_one_host}},
    }
    at = played(waiting)
    assert not at.world.workloads["default/small"].reserved
    at.cycle()
    assert not at.world.workloads["default/small"].reserved
    at.fold([WorkloadDeleted(workload="default/new")])
    at.cycle()
    assert at.world.workloads["default/small"].reserved


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"stopPolicy": "Hold"}, "ClusterQueue a is inactive"),
        (
            {"namespaceSelector": {"matchLabels": {"team": "other"}}},
            "Workload namespace doesn't match ClusterQueue selector",
        ),
    ],
)
def test_who_waits_for_its_place_is_not_placed_where_its_queue_would_not_take_it_in(
    changed: JsonObject, why: str
) -> None:
    at = played({**WAITING, "queues": {"a": {**WAITING["queues"]["a"], **changed}}})
    new = at.world.workloads["default/new"]
    assert new.second_pass.failures == 1 and not new.admitted and not at.world.domains.held()
    at.now = new.second_pass.again_at
    (failed,) = passes(at)
    assert isinstance(failed, SecondPassFailed)
    assert failed.message == why
