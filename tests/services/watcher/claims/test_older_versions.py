"""Objects as an older API server serves them come to the same as those of v1."""

import copy

import pytest

from events.claims import ResourceClaimObserved
from events.json_object import JsonObject
from ops.production.device_selectors import DeviceSelectors
from services.watcher.claims.claim_book import CLAIM_KINDS
from services.watcher.claims.older_versions import as_v1
from services.watcher.view import View
from tests.services.watcher.claims.claim_objects import claim, device_class, resource_slice, settings, template
from tests.services.watcher.claims.test_claim_book import charged, job

MAPPED = settings({"gpus": ["a"]})
SIZED = "device.attributes['d'].size >= 2"


def old_requests(spec: JsonObject) -> None:
    """Requests as v1beta1 has them."""
    spec["devices"]["requests"] = [
        {**{name: each for name, each in one.items() if name != "exactly"}, **one.get("exactly", {})}
        for one in spec["devices"]["requests"]
    ]


def old(value: JsonObject) -> JsonObject:
    """An object as v1beta1 writes it, as a list has it: without its version."""
    found = copy.deepcopy(value)
    del found["apiVersion"]
    match value["kind"]:
        case "ResourceClaimTemplate":
            old_requests(found["spec"]["spec"])
        case "ResourceClaim":
            old_requests(found["spec"])
        case "ResourceSlice":
            found["spec"]["devices"] = [
                {"name": one["name"], "basic": {name: each for name, each in one.items() if name != "name"}}
                for one in found["spec"]["devices"]
            ]
        case _:
            pass
    return found


@pytest.mark.parametrize("as_served", [old, copy.deepcopy], ids=["v1beta1", "v1"])
def test_what_pods_claim_is_counted_the_same(as_served: object) -> None:
    assert callable(as_served)
    seen = View(settings=MAPPED, selectors=DeviceSelectors())
    two = template("two", [{"class": "a", "count": 2, "cel": SIZED}])
    devices = resource_slice("s", driver="d", devices={"g0": {"size": 1}, "g1": {"size": 2}, "g2": {"size": 3}})
    for value in (device_class("a"), two, devices):
        seen.see(value["kind"], as_served(value))
    assert charged(seen.see("Job", job())) == {"gpus": 2}


def test_they_are_read_in_the_newest_version_that_is_served_and_in_no_other_form_than_that_of_v1() -> None:
    assert {(one.version, one.older) for one in CLAIM_KINDS} == {("v1", ("v1beta2", "v1beta1"))}
    first = [{"name": "big", "deviceClassName": "a"}]
    newer = template("two", [{"class": "a", "count": 2}, {"first": first}])
    found = as_v1("ResourceClaimTemplate", old(newer))
    assert found["spec"] == newer["spec"] and "firstAvailable" in str(found)


def test_a_device_of_a_claim_is_of_the_class_of_its_request() -> None:
    (fact,) = View(settings=MAPPED).see("ResourceClaim", old(claim("c", "d/n1/g0", pods=["p"])))
    assert isinstance(fact, ResourceClaimObserved) and fact.devices[0].device_class == "a"


def test_what_has_neither_form_is_refused_as_it_stands() -> None:
    broken = {**template("two", []), "spec": {"spec": {"devices": {"requests": ["two of them"]}}}}
    (refused,) = View(settings=MAPPED).see("ResourceClaimTemplate", broken)
    assert "requests" in str(refused)
