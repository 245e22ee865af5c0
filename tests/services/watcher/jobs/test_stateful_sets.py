"""StatefulSets whose templates name no group, as under Kueue 0.17: each is one workload, with the pods that it has made itself."""

from events.catalogue import Fact
from events.json_object import JsonObject
from events.json_path import put
from events.workload import MemberState, WorkloadChanged, WorkloadDeleted, WorkloadSubmitted
from services.jobs.defaulting import waiting
from services.jobs.kinds.pods import in_its_group
from services.jobs.workload_name import workload_name
from services.watcher.view import View
from tests.services.watcher.jobs.test_app_wrappers import WRAPPER

QUEUE = "kueue.x-k8s.io/queue-name"
TEMPLATE: JsonObject = {
    "metadata": {},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
}


def the_set(uid: str = "u", queue: str = "lq") -> JsonObject:
    meta = {"name": "s", "namespace": "team", "uid": uid, "labels": {QUEUE: queue}}
    value = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta}
    return waiting({**value, "spec": {"replicas": 2, "template": TEMPLATE}}, "StatefulSet")


def pod(of: JsonObject, number: int) -> JsonObject:
    """A pod of it, after our webhook."""
    uid, template = of["metadata"]["uid"], of["spec"]["template"]
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": uid, "controller": True}
    meta = {"name": f"s-{number}", "namespace": "team", "uid": f"{uid}-{number}", "ownerReferences": [owner]}
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], **meta}, "spec": template["spec"]}
    return waiting(value, "Pod")


def key_of(of: JsonObject) -> str:
    return f"team/{workload_name('StatefulSet', 'apps', 's', of['metadata']['uid'])}"


def running(of: JsonObject, value: JsonObject) -> JsonObject:
    """Let through, with the names of its group."""
    named = in_its_group(value, key_of(of).partition("/")[2], "lq", "main", 2)
    return {**named, "spec": {**named["spec"], "schedulingGates": [], "nodeName": "n"}, "status": {"phase": "Running"}}


def told(view: View, *objects: JsonObject) -> list[Fact]:
    return [fact for one in objects for fact in view.see(one["kind"], one)]


def members(view: View, key: str) -> dict[str, MemberState]:
    return {one.uid: one.state for one in view.workloads[key].spec.members}


def test_one_that_a_managed_job_owns_asks_for_nothing_itself_and_goes_on_in_its_own_workload_where_it_has_one() -> None:
    owner = {"apiVersion": WRAPPER["apiVersion"], "kind": "AppWrapper", "name": "w", "uid": "u", "controller": True}
    held = put(the_set(), ("metadata", "ownerReferences"), [owner])
    view = View()
    told(view, WRAPPER)
    assert told(view, held) == []
    view = View()
    told(view, put(WRAPPER, ("metadata", "labels"), {}))
    (submitted,) = told(view, held)
    assert isinstance(submitted, WorkloadSubmitted), "nobody else asks for it"
    told(view, WRAPPER)
    assert told(view, held) == [], "it is counted already, and its pods may run"


def test_it_is_one_workload_with_its_pods_before_and_after_they_bear_the_name_of_their_group() -> None:
    view, one = View(), the_set()
    first, second = pod(one, 0), pod(one, 1)
    facts = told(view, one, first, second)
    (submitted,) = [fact for fact in facts if isinstance(fact, WorkloadSubmitted)]
    assert submitted.workload == key_of(one)
    assert members(view, key_of(one)) == {"u-0": MemberState.GATED, "u-1": MemberState.GATED}
    facts = told(view, running(one, first))
    assert not any(isinstance(fact, WorkloadSubmitted | WorkloadDeleted) for fact in facts)
    assert members(view, key_of(one)) == {"u-0": MemberState.LIVE, "u-1": MemberState.GATED}
    assert [pods.name for pods in view.workloads[key_of(one)].spec.pod_sets] == ["main"]


def test_another_queue_moves_the_workload_and_not_its_pods() -> None:
    view, one = View(), the_set()
    told(view, one, pod(one, 0))
    moved = put(one, ("metadata", "labels", QUEUE), "other")
    assert waiting(moved, "StatefulSet")["spec"] == one["spec"]
    (changed,) = [fact for fact in told(view, moved) if isinstance(fact, WorkloadChanged)]
    assert changed.spec.queue == "other" and [pod.uid for pod in changed.spec.members] == ["u-0"]


def test_pods_of_one_that_is_gone_are_not_those_of_another_one_of_its_name() -> None:
    view, old, new = View(), the_set("u"), the_set("v")
    kept = running(old, pod(old, 0))
    for kind, value in (("StatefulSet", old), ("Pod", kept)):
        view.expect(kind, [value])
        told(view, value)
        view.settle(kind)
    gone = view.lose("StatefulSet", "team", "s")
    facts = told(view, new, pod(new, 1), put(kept, ("metadata", "labels", "more"), "x"))
    assert members(view, key_of(new)) == {"v-1": MemberState.GATED}
    assert WorkloadDeleted(workload=key_of(old)) in gone and key_of(old) not in view.workloads
    assert [fact.workload for fact in facts if isinstance(fact, WorkloadSubmitted)] == [key_of(new)]


def test_its_pod_set_is_called_as_by_kueue_also_when_pods_were_seen_first() -> None:
    view, one = View(), the_set()
    told(view, pod(one, 0), one)
    assert [pods.name for pods in view.workloads[key_of(one)].spec.pod_sets] == ["main"]


def limits(view: View, one: JsonObject) -> int | None:
    return view.workloads[key_of(one)].spec.max_execution


def test_how_long_it_may_run_is_what_it_says_as_it_is_let_in() -> None:
    view, plain = View(), the_set()
    limit = "kueue.x-k8s.io/max-exec-time-seconds"
    one = put(plain, ("metadata", "labels", limit), "60")
    first = pod(one, 0)
    told(view, one, first)
    assert limits(view, one) == 60_000
    told(view, put(one, ("metadata", "labels", limit), "90"))
    assert limits(view, one) == 90_000, "it waits"
    told(view, running(one, first), one)
    assert limits(view, one) == 90_000, "it runs"
    unread = put(plain, ("metadata", "labels", limit), "soon")
    view = View()
    told(view, unread, pod(unread, 0))
    assert limits(view, unread) is None, "as under Kueue, which takes no such label"


def test_one_that_ran_before_its_time_was_heeded_goes_on_without_end() -> None:
    view, plain = View(), the_set()
    first = pod(plain, 0)
    told(view, plain, first, running(plain, first))
    told(view, put(plain, ("metadata", "labels", "kueue.x-k8s.io/max-exec-time-seconds"), "60"))
    assert limits(view, plain) is None
