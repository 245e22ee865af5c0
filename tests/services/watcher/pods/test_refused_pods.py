"""A pod that can't be understood is refused once, and for as long as that holds.

Rule: docs/rules/eviction.md#by-hand
"""

from typing import Any

from events.control import ObjectRefused
from events.json_object import JsonObject
from events.workload import WorkloadSubmitted
from services.watcher.view import View
from tests.services.watcher.pods.test_pod_members import pod

UNKNOWN = {
    "kueue.x-k8s.io/queue-name": "lq",
    "kueue.x-k8s.io/managed": "true",
    "kueue.x-k8s.io/priority-class": "nobody-knows",
}


def alone(labels: dict[str, str] = UNKNOWN, **state: Any) -> JsonObject:
    return pod("odd", labels=labels, annotations={}, **state)


def test_a_pod_that_is_refused_stays_so_however_often_it_is_seen() -> None:
    view = View()
    told = [
        view.see("Pod", alone()),
        view.see("Pod", alone(gated=False)),
        view.see("Pod", alone(gated=False, node="n")),
    ]
    assert [[type(one) for one in facts] for facts in told] == [[ObjectRefused], [ObjectRefused], []]
    assert view.see("Pod", alone(gated=False, node="n", phase="Running")) == []
    known = {name: value for name, value in UNKNOWN.items() if "priority" not in name}
    assert [type(one) for one in view.see("Pod", alone(known))] == [WorkloadSubmitted]
    assert "Pod/team/odd#refused" not in view.facts


def test_what_serves_and_is_refused_stays_so_however_often_it_is_seen() -> None:
    view = View()
    meta = {"name": "s", "namespace": "team", "uid": "u", "labels": UNKNOWN}
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    spec = {"replicas": 1, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}}
    told = [view.see("StatefulSet", {"metadata": meta, "spec": spec, "status": {"replicas": n}}) for n in range(3)]
    assert [[type(one) for one in facts] for facts in told] == [[ObjectRefused], [], []]
