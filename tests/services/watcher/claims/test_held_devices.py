"""What slices publish and what claims were given is told as it changes, and nothing of it twice."""

from events.catalogue import Fact
from events.claims import ClaimedDevice, ClaimUser, ResourceClaimObserved, ResourceSliceObserved
from events.control import ObjectRefused, ObjectRemoved
from events.device import PodObserved
from events.json_object import JsonObject
from events.settings import SettingsObserved
from services.watcher.view import View
from tests.services.watcher.claims.claim_objects import claim, resource_slice, settings

MAPPED = settings({"gpus": ["a"]})


def pod(*, claims: bool = True, extended: bool = False, node: str = "n1") -> JsonObject:
    meta = {"name": "p", "namespace": "default", "uid": "u-p", "annotations": {"kueue.x-k8s.io/workload": "w"}}
    asked = [{"name": "gpu", "resourceClaimTemplateName": "one"}] if claims else []
    status: JsonObject = {"phase": "Running"}
    if extended:
        status["extendedResourceClaimStatus"] = {"resourceClaimName": "c"}
    spec = {"nodeName": node, "containers": [{"name": "c"}], "resourceClaims": asked}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def told(view: View, value: JsonObject) -> list[Fact]:
    return view.see(value["kind"], value)


def test_a_slice_is_told_by_the_names_of_its_devices_and_not_again_when_they_are_merely_different() -> None:
    view = View(settings=MAPPED)
    fact = ResourceSliceObserved(name="s", driver="d", pool="s", node="n1", devices=("g0", "g1"))
    assert told(view, resource_slice("s", driver="d", devices={"g1": {}, "g0": {}})) == [fact]
    assert told(view, resource_slice("s", driver="d", devices={"g0": {"hot": True}, "g1": {}})) == []
    assert view.lose("ResourceSlice", "", "s") == [ObjectRemoved(kind="ResourceSlice", namespace="", name="s")]


def test_a_claim_is_told_when_it_was_given_devices_and_when_it_has_none_any_more() -> None:
    view = View(settings=MAPPED)
    assert told(view, claim("c", owner="p")) == []
    device = ClaimedDevice(driver="d", pool="n1", device="g0", request="r", device_class="a")
    users = (ClaimUser(name="p", uid="u-p"),)
    fact = ResourceClaimObserved(
        namespace="default",
        name="c",
        uid="uid-c",
        devices=(device,),
        pods=users,
        made_for=ClaimUser(name="p", uid="u"),
    )
    assert told(view, claim("c", "d/n1/g0", pods=["p"], owner="p")) == [fact]
    assert told(view, claim("c", "d/n1/g0", pods=["p"], owner="p")) == []
    (free,) = told(view, claim("c", owner="p"))
    assert isinstance(free, ResourceClaimObserved) and (free.devices, free.pods) == ((), ())
    assert view.lose("ResourceClaim", "default", "c") == [
        ObjectRemoved(kind="ResourceClaim", namespace="default", name="c")
    ]


def test_a_claim_is_for_the_pods_among_those_that_it_is_reserved_for_and_of_the_pod_that_controls_it() -> None:
    value = claim("c", "d/n1/g0", pods=["p"], owner="p")
    value["status"]["reservedFor"] += [
        {"resource": "pods", "apiGroup": "example.com", "name": "other", "uid": "u-1"},
        {"resource": "things", "name": "thing", "uid": "u-2"},
    ]
    (owner,) = value["metadata"]["ownerReferences"]
    value["metadata"]["ownerReferences"] = [{**owner, "name": "beside", "controller": False}, owner]
    (fact,) = told(View(settings=MAPPED), value)
    assert isinstance(fact, ResourceClaimObserved)
    assert (fact.pods, fact.made_for) == ((ClaimUser(name="p", uid="u-p"),), ClaimUser(name="p", uid="u"))
    value["metadata"]["ownerReferences"] = [{**owner, "kind": "Thing"}]
    (fact,) = told(View(settings=MAPPED), value)
    assert isinstance(fact, ResourceClaimObserved) and fact.made_for is None


def test_a_device_is_of_the_class_of_its_request_or_of_the_alternative_that_was_taken() -> None:
    view, choices = View(settings=MAPPED), [{"name": "big", "deviceClassName": "b"}]
    each = {"request": "r/big", "shareID": "s1", "consumedCapacity": {"memory": "4Gi"}, "adminAccess": True}
    (fact,) = told(view, claim("c", "d/n1/g0", each=each, request={"name": "r", "firstAvailable": choices}))
    device = ClaimedDevice(
        driver="d",
        pool="n1",
        device="g0",
        request="r/big",
        device_class="b",
        share="s1",
        consumed={"memory": "4Gi"},
        admin=True,
    )
    assert isinstance(fact, ResourceClaimObserved) and fact.devices == (device,)


def test_a_claim_that_can_not_be_read_is_refused_and_what_was_understood_of_it_stands() -> None:
    view = View(settings=MAPPED)
    told(view, claim("c", "d/n1/g0"))
    broken = claim("c", "d/n1/g0")
    del broken["status"]["allocation"]["devices"]["results"][0]["pool"]
    (refused,) = told(view, broken)
    assert isinstance(refused, ObjectRefused) and "pool" in refused.problems[0].message
    assert isinstance(view.facts["ResourceClaim/default/c"], ResourceClaimObserved)


def test_a_pod_that_claims_devices_is_told_where_claims_are_counted_and_nowhere_else() -> None:
    (fact,) = told(View(settings=MAPPED), pod())
    assert isinstance(fact, PodObserved) and (fact.workload, fact.cardless) == ("default/w", True)
    assert told(View(settings=MAPPED), pod(claims=False, extended=True))
    assert told(View(settings=MAPPED), pod(claims=False)) == []
    assert told(View(settings=SettingsObserved()), pod()) == []


def test_where_nothing_is_mapped_any_more_what_was_told_is_told_anew_when_something_is_again() -> None:
    view = View(settings=MAPPED)
    slice_, given = resource_slice("s", driver="d", devices={"g0": {}}), claim("c", "d/n1/g0")
    before = [*told(view, slice_), *told(view, given)]
    view.fold(SettingsObserved())
    view.fold(MAPPED)
    assert [*told(view, slice_), *told(view, given)] == before
