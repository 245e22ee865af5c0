"""How checks stand as a Workload says, with what they want added to its pods."""

from typing import Any

import pytest

from events.control import ObjectRefused
from events.selector import Toleration
from events.workload import CheckReported, PodSetUpdate
from services.watcher.view import View
from tests.services.watcher.test_view import KEY, job
from tests.services.watcher.workloads.test_workload_object_diff import companion

GOOD: dict[str, Any] = {
    "name": "main",
    "labels": {"b": "2", "a": "1"},
    "annotations": {"note": "x y"},
    "nodeSelector": {"pool": "p"},
    "tolerations": [{"key": "spot", "operator": "Exists"}, {"key": "card", "value": "v", "effect": "NoSchedule"}],
}


def saying(*updates: object) -> dict[str, Any]:
    value = companion(state="Ready")
    value["status"]["admissionChecks"][0]["podSetUpdates"] = list(updates)
    return {**value, "spec": {**value["spec"], "podSets": [{"name": "main", "template": {"spec": {"containers": []}}}]}}


def seen() -> View:
    view = View()
    view.see("Job", job())
    return view


def test_updates_are_told_with_the_state_and_again_when_they_change() -> None:
    view = seen()
    (told,) = view.see("Workload", saying(GOOD))
    assert isinstance(told, CheckReported)
    assert told.check.updates == (
        PodSetUpdate(
            name="main",
            labels={"a": "1", "b": "2"},
            annotations={"note": "x y"},
            node_selector={"pool": "p"},
            tolerations=(
                Toleration(key="spot", operator="Exists"),
                Toleration(key="card", value="v", effect="NoSchedule"),
            ),
        ),
    )
    assert view.see("Workload", saying(GOOD)) == []
    (again,) = view.see("Workload", saying({**GOOD, "labels": {}}))
    assert isinstance(again, CheckReported) and again.check.updates[0].labels == {}


@pytest.mark.parametrize(
    ("update", "field", "instead"),
    [
        ({**GOOD, "name": "wurkers"}, "status.admissionChecks[0].podSetUpdates[0].name", "one of main"),
        ({**GOOD, "labels": {"a b": "1"}}, "status.admissionChecks[0].podSetUpdates[0].labels", ""),
        ({**GOOD, "nodeSelector": {"pool": "no good!"}}, "status.admissionChecks[0].podSetUpdates[0].nodeSelector", ""),
        (
            {**GOOD, "tolerations": [{"key": "k", "operator": "Sometimes"}]},
            "status.admissionChecks[0].podSetUpdates[0].tolerations[0].operator",
            "",
        ),
        ({**GOOD, "labels": {"a": 1}}, "status.admissionChecks[0].podSetUpdates[0].labels[...]", ""),
        ("main", "status.admissionChecks[0].podSetUpdates[0]", ""),
    ],
)
def test_an_update_that_the_pods_can_t_take_is_refused_with_its_field_until_it_is_mended(
    update: object, field: str, instead: str
) -> None:
    view = seen()
    (refused,) = view.see("Workload", saying(update))
    assert isinstance(refused, ObjectRefused)
    assert refused.problems[0].field == field
    assert instead in refused.problems[0].instead
    assert view.see("Workload", saying(update)) == [], "it is told once"
    (mended,) = view.see("Workload", saying(GOOD))
    assert isinstance(mended, CheckReported) and mended.workload == KEY
    assert isinstance(view.see("Workload", saying(update))[0], ObjectRefused), "and again when it is broken again"
