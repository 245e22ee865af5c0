from msgspec.structs import replace

from events.selector import NodeTerm, Operator, Requirement, Toleration
from events.workload import PodSetUpdate
from projections.topology.requests.topology_request import FlavorRoom, PlacementRequest
from tests.projections.topology.makers import flavor_with, placed, request, told

HOSTS = {"a": {"cpu": 9, "labels": {"zone": "east"}}, "b": {"cpu": 9, "taint": "spot", "labels": {"zone": "west"}}}


def with_updates(asked: PlacementRequest, *updates: PodSetUpdate) -> PlacementRequest:
    return PlacementRequest(
        pod_set=asked.pod_set,
        flavor=asked.flavor,
        count=asked.count,
        requests=asked.requests,
        topology=asked.topology,
        node_selector=asked.node_selector,
        updates=updates,
    )


def test_checks_that_are_ready_add_to_what_is_selected_and_tolerated() -> None:
    asked = request(required="host")
    spot = Toleration(key="spot", operator="Exists")
    west = PodSetUpdate(name="main", node_selector={"zone": "west"}, tolerations=(spot,))
    assert told(placed(flavor_with(["host"], HOSTS), with_updates(asked, west))["main"]) == {"b": 1}
    assert told(placed(flavor_with(["host"], HOSTS), asked)["main"]) == {"a": 1}


def test_a_check_that_contradicts_the_node_selector_leaves_no_place() -> None:
    asked = request(required="host", selector={"zone": "east"})
    west = PodSetUpdate(name="main", node_selector={"zone": "west"})
    assert told(placed(flavor_with(["host"], HOSTS), with_updates(asked, west))["main"]) == (
        "invalid podSetUpdate for PodSet main, error: invalid admission check PodSetUpdate: "
        "conflict for nodeSelector: conflict for key=zone, value1=east, value2=west"
    )


def test_the_flavor_tolerates_taints_for_its_pods() -> None:
    flavor = flavor_with(["host"], {"b": HOSTS["b"]})
    tolerant = FlavorRoom(room=flavor.room, tolerations=(Toleration(key="spot", operator="Exists"),))
    assert told(placed(tolerant, request(required="host"))["main"]) == {"b": 1}
    assert "taint" in str(told(placed(flavor, request(required="host"))["main"]))


def named(operator: Operator, *hosts: str, needs: tuple[Requirement, ...] = ()) -> NodeTerm:
    return NodeTerm(
        fields=(Requirement(key="metadata.name", operator=operator, values=tuple(f"node-{one}" for one in hosts)),),
        expressions=needs,
    )


def test_a_node_may_be_asked_for_by_its_name() -> None:
    flavor = flavor_with(["host"], {"a": HOSTS["a"], "c": {"cpu": 9, "labels": {"zone": "west"}}})
    west = Requirement(key="zone", operator=Operator.IN, values=("west",))
    for term, found in (
        (named(Operator.IN, "c"), {"c": 1}),
        (named(Operator.NOT_IN, "a"), {"c": 1}),
        (named(Operator.IN, "a", "c", needs=(west,)), {"c": 1}),
    ):
        assert told(placed(flavor, replace(request(required="host"), node_terms=(term,)))["main"]) == found, term
    for nothing in (named(Operator.IN, "elsewhere"), NodeTerm()):
        nowhere = replace(request(required="host"), node_terms=(nothing,))
        assert "affinity: 2" in str(told(placed(flavor, nowhere)["main"])), nothing
