"""Which pods of a group take a place in it."""

from typing import Any

import pytest

from events.api.labels import MANAGED
from events.catalogue import Fact
from events.control import ObjectRefused
from events.json_object import JsonObject
from events.json_path import put
from events.pod import PodAccounted
from events.timestamp import parse_timestamp
from events.workload import MemberState, WorkloadChanged, WorkloadDeleted, WorkloadSubmitted
from services.watcher.pods.pod_members import group_members, members_of
from services.watcher.view import View

ROLE = "kueue.x-k8s.io/role-hash"
BEGIN = parse_timestamp("2026-01-01T00:00:00Z")


def pod(name: str, *, phase: str = "Pending", gated: bool = True, node: str = "", **meta: Any) -> JsonObject:
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"u-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": [MANAGED],
            "labels": {"kueue.x-k8s.io/queue-name": "lq", MANAGED: "true", "kueue.x-k8s.io/pod-group-name": "g"},
            "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2", ROLE: "r"},
            **meta,
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            **({"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]} if gated else {}),
        },
        "status": {"phase": phase},
    }


def role(one: JsonObject) -> str:
    return str(one["metadata"]["annotations"][ROLE])


def names(pods: tuple[JsonObject, ...]) -> list[str]:
    return [one["metadata"]["name"] for one in pods]


def test_who_was_let_through_stays_before_who_waits_and_who_is_held_before_who_is_not() -> None:
    waits, runs = pod("a"), pod("b", gated=False, node="n")
    found = group_members([waits, runs], {"r": 1}, role)
    assert (names(found.kept), names(found.excess)) == (["b"], ["a"])
    free = pod("a", gated=False, node="n", finalizers=[])
    assert names(
        group_members([free, waits | {"metadata": {**waits["metadata"], "name": "z"}}], {"r": 1}, role).kept
    ) == ["z"]


def test_of_a_pod_that_is_deleted_where_it_runs_is_told_when_it_should_be_gone_with_its_grace_period_once_more() -> (
    None
):
    going = {"deletionTimestamp": "2026-01-01T00:01:00Z", "deletionGracePeriodSeconds": 30}
    runs, over = pod("a", gated=False, node="n", **going), pod("b", phase="Failed", gated=False, node="n", **going)
    stays, never_ran = pod("c", gated=False, node="n"), pod("d", **going)
    told = {one.name: one.holds_until for one in members_of([runs, over, stays, never_ran], role)}
    assert told == {"a": BEGIN + 90_000, "b": 0, "c": 0, "d": 0}


def test_a_pod_that_failed_keeps_its_place_until_another_takes_it() -> None:
    failed, runs = pod("a", phase="Failed", gated=False, node="n"), pod("b", gated=False, node="n")
    found = group_members([failed, runs], {"r": 2}, role)
    assert (names(found.kept), found.missing) == (["a", "b"], 1)
    found = group_members([failed, runs, pod("c")], {"r": 2}, role)
    assert (names(found.kept), names(found.replaced), found.missing) == (["b", "c"], ["a"], 0)


def test_of_those_that_have_ended_the_last_to_be_of_use_keeps_its_place() -> None:
    early = pod("a", phase="Failed", deletionTimestamp="2026-01-01T01:00:00Z")
    late = pod("b", phase="Failed", deletionTimestamp="2026-01-01T02:00:00Z")
    found = group_members([early, late, pod("c")], {"r": 2}, role)
    assert (names(found.kept), names(found.replaced)) == (["b", "c"], ["a"])


def test_a_pod_that_was_deleted_at_the_gate_has_ended() -> None:
    gone = pod("a", deletionTimestamp="2026-01-01T01:00:00Z")
    leaving = pod("b", gated=False, node="n", phase="Running", deletionTimestamp="2026-01-01T01:00:00Z")
    found = group_members([gone, leaving], {"r": 2}, role)
    assert found.missing == 1
    assert [one.state for one in members_of(found.kept, role)] == [MemberState.OVER, MemberState.LIVE]


def test_pods_of_another_shape_stay_out() -> None:
    other = pod("x", annotations={ROLE: "other"})
    found = group_members([other, pod("a")], {"r": 2}, role)
    assert (names(found.kept), found.excess, found.replaced) == (["a"], (), ())


def test_when_all_places_are_empty_other_pods_take_the_name_of_the_group() -> None:
    view = View()
    for name in ("a", "b"):
        facts = view.see("Pod", pod(name))
    assert any(isinstance(one, WorkloadSubmitted) for one in facts)
    for name in ("a", "b"):
        view.lose("Pod", "team", name)
    for name in ("c", "d"):
        fresh = pod(name)
        fresh["metadata"]["annotations"][ROLE] = "other"
        facts = view.see("Pod", fresh)
    (submitted,) = [one for one in facts if isinstance(one, WorkloadSubmitted)]
    assert [one.name for one in submitted.spec.pod_sets] == ["other"]


def test_a_group_that_lost_all_its_pods_to_another_shape_is_told_anew() -> None:
    view = View()
    for name in ("a", "b"):
        view.see("Pod", pod(name))
    reshaped = [pod(name) for name in ("a", "b")]
    for one in reshaped:
        one["metadata"]["annotations"][ROLE] = "other"
    view.see("Pod", reshaped[0])
    facts = view.see("Pod", reshaped[1])
    assert [type(one) for one in facts] == [WorkloadDeleted, WorkloadSubmitted]


def test_of_a_group_whose_pods_are_not_all_there_one_pod_says_so_once() -> None:
    view = View()
    three = {"annotations": {"kueue.x-k8s.io/pod-group-total-count": "3", ROLE: "r"}}
    (told,) = view.see("Pod", pod("a", **three))
    assert isinstance(told, ObjectRefused)
    assert (told.kind, told.name, told.pod, told.running) == ("PodGroup", "g", "a", 0)
    assert told.problems[0].message == "'g' group has fewer runnable pods than expected"
    assert view.see("Pod", pod("b", **three)) == []
    whole = view.see("Pod", pod("c", **three))
    assert [type(one) for one in whole] == [WorkloadSubmitted]
    assert "PodGroup/team/g#refused" not in view.facts


def test_what_another_watcher_has_told_is_not_told_again() -> None:
    view, again = View(), View()
    pods = [pod("a"), pod("b"), pod("c")]
    told = [fact for one in pods for fact in view.see("Pod", one)]
    assert [type(one) for one in told] == [ObjectRefused, WorkloadSubmitted, PodAccounted]
    for fact in told:
        again.fold(fact)
    again.expect("Pod", pods)
    assert [fact for one in pods for fact in again.see("Pod", one)] == []
    again.expect("Pod", pods[:1])
    (changed,) = again.settle("Pod")
    assert isinstance(changed, WorkloadChanged) and [one.name for one in changed.spec.members] == ["a"]
    assert changed.spec.waits_for_pods


def test_a_replaced_pod_may_go_once_another_owns_the_workload() -> None:
    view = View()
    for name in ("a", "b"):
        view.see("Pod", pod(name))
    view.see("Workload", workload("u-a", "u-b"))
    for name in ("a", "b"):
        view.see("Pod", pod(name, phase="Failed", gated=False, node="n"))
    assert accounted(view.see("Pod", pod("c"))) == ["b"], "a still owns it"
    assert accounted(view.see("Pod", pod("d"))) == [], "the object would go with the last that owns it"
    assert accounted(view.see("Workload", workload("u-a", "u-c", "u-d"))) == ["a"]


def accounted(facts: list[Fact]) -> list[str]:
    return [one.name for one in facts if isinstance(one, PodAccounted)]


def workload(*uids: str) -> JsonObject:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": uid.removeprefix("u-"), "uid": uid} for uid in uids]
    return {
        "metadata": {"name": "g", "namespace": "team", "uid": "w", "ownerReferences": owners},
        "spec": {"queueName": "lq", "podSets": []},
    }


def test_a_pod_that_has_ended_and_was_deleted_is_held_no_longer_where_its_group_has_no_workload() -> None:
    """So it is where the Workload that its group names went before it."""
    view, named = View(), {"kueue.x-k8s.io/prebuilt-workload-name": "gone"}
    labels = {**pod("a")["metadata"]["labels"], **named}
    over = {"phase": "Succeeded", "gated": False, "node": "n", "labels": labels}
    told = [fact for name in ("a", "b") for fact in view.see("Pod", pod(name, **over))]
    assert {type(one) for one in told} == {ObjectRefused}
    leaving = {**over, "deletionTimestamp": "2026-01-01T01:00:00Z"}
    told = [fact for name in ("a", "b") for fact in view.see("Pod", pod(name, **leaving))]
    assert [one.name for one in told if isinstance(one, PodAccounted)] == ["a", "b"]


def test_a_pod_that_joins_another_group_leaves_its_place_in_the_one_before() -> None:
    view = View()
    members = [pod(name, gated=False, node="n", phase="Running") for name in ("a", "b")]
    view.expect("Pod", members)
    assert [type(one) for one in view.see("Pod", members[0])] == [WorkloadSubmitted]
    view.see("Pod", members[1])
    labels = {**members[1]["metadata"]["labels"], "kueue.x-k8s.io/pod-group-name": "h"}
    told = view.see("Pod", put(members[1], ("metadata", "labels"), labels))
    (changed,) = [one for one in told if isinstance(one, WorkloadChanged)]
    assert changed.workload == "team/g"
    assert [(one.name, one.state) for one in changed.spec.members] == [("a", MemberState.LIVE)]
    assert view.see("Pod", put(members[1], ("metadata", "labels"), labels)) == []


@pytest.mark.parametrize(("said", "told"), [("true", True), ("false", False), ("", False), (None, False)])
def test_a_group_comes_pod_by_pod_where_it_says_that_this_is_true(said: str | None, *, told: bool) -> None:
    fast = {} if said is None else {"kueue.x-k8s.io/pod-group-fast-admission": said}
    first = pod("a")
    first["metadata"]["annotations"] |= fast
    assert any(isinstance(one, WorkloadSubmitted) for one in View().see("Pod", first)) is told
