"""The pod sets of AppWrappers are called as by Kueue, and those that were reported under other names go on under them."""

from msgspec.structs import replace

from events.json_object import JsonObject
from events.workload import WorkloadSubmitted
from services.watcher.view import View

POD: JsonObject = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "x"}]}}
LABELS = {"kueue.x-k8s.io/queue-name": "q"}
WRAPPER: JsonObject = {
    "apiVersion": "workload.codeflare.dev/v1beta2",
    "kind": "AppWrapper",
    "metadata": {"name": "w", "namespace": "team", "uid": "u", "generation": 1, "labels": LABELS},
    "spec": {"suspend": True, "components": [{"template": POD}, {"template": POD}]},
}


def test_an_app_wrapper_is_told_with_its_pod_sets_numbered_through() -> None:
    (told,) = View().see("AppWrapper", WRAPPER)
    assert isinstance(told, WorkloadSubmitted)
    assert [one.name for one in told.spec.pod_sets] == ["w-0", "w-1"]


def test_one_that_was_told_with_the_names_of_before_is_the_same_still() -> None:
    (told,) = View().see("AppWrapper", WRAPPER)
    assert isinstance(told, WorkloadSubmitted)
    named = [replace(one, name=name) for one, name in zip(told.spec.pod_sets, ("w-0-0", "w-1-0"), strict=True)]
    view = View()
    view.fold(replace(told, spec=replace(told.spec, pod_sets=tuple(named))))
    assert view.see("AppWrapper", WRAPPER) == [], "it is not changed, and what runs is not stopped"
