"""LeaderWorkerSets as the controller and webhook of LWS 0.7 write them: stateful sets, leaders, workers, restarts."""

import hashlib

import pytest

from events.catalogue import Fact
from events.json_object import JsonObject
from events.json_path import put
from events.settings import SettingsObserved
from events.workload import MemberState, WorkloadChanged, WorkloadDeleted, WorkloadFinished, WorkloadSubmitted
from services.jobs.defaulting import PLAIN, waiting
from services.jobs.kinds.managed_kinds import Kinds, kinds_of
from services.jobs.workload_name import workload_name
from services.watcher.view import View

LWS = "leaderworkerset.sigs.k8s.io/"
QUEUE = "kueue.x-k8s.io/queue-name"
TEMPLATE: JsonObject = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def the_set(
    name: str = "vllm",
    *,
    replicas: int = 2,
    size: int = 3,
    leader: bool = True,
    queue: str = "lq",
    kinds: Kinds = PLAIN,
) -> JsonObject:
    """One as a user makes it, after our webhook and with LWS's defaults."""
    both = {"leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE} if leader else {"workerTemplate": TEMPLATE}
    labels = {QUEUE: queue} if queue else {}
    value: JsonObject = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": "team", "uid": f"u-{name}", "labels": labels},
        "spec": {
            "replicas": replicas,
            "leaderWorkerTemplate": {**both, "size": size, "restartPolicy": "RecreateGroupOnPodRestart"},
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 1}},
            "networkConfig": {"subdomainPolicy": "Shared"},
        },
    }
    return waiting(value, "LeaderWorkerSet", kinds)


def _name(of: JsonObject) -> str:
    return str(of["metadata"]["name"])


def _key(of: JsonObject, index: int) -> str:
    """What tells a group from all others: as LWS hashes namespace and name of its leader."""
    return hashlib.sha1(f"team/{_name(of)}-{index}".encode(), usedforsecurity=False).hexdigest()


def _owned(kind: str, name: str, uid: str) -> list[JsonObject]:
    group = "leaderworkerset.x-k8s.io/v1" if kind == "LeaderWorkerSet" else "apps/v1"
    return [{"apiVersion": group, "kind": kind, "name": name, "uid": uid, "controller": True}]


def leader_set(of: JsonObject) -> JsonObject:
    """The StatefulSet of all leaders: it has the set's own name."""
    name, templates = _name(of), of["spec"]["leaderWorkerTemplate"]
    template = templates.get("leaderTemplate") or templates["workerTemplate"]
    labels = {f"{LWS}worker-index": "0", f"{LWS}name": name, f"{LWS}template-revision-hash": "r1"}
    notes = {f"{LWS}size": str(templates["size"])}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"u-{name}-leaders",
            "labels": {f"{LWS}name": name, f"{LWS}template-revision-hash": "r1"},
            "annotations": {f"{LWS}replicas": str(of["spec"]["replicas"])},
            "ownerReferences": _owned("LeaderWorkerSet", name, of["metadata"]["uid"]),
        },
        "spec": {
            "replicas": of["spec"]["replicas"],
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {f"{LWS}name": name, f"{LWS}worker-index": "0"}},
            "template": _with(template, labels, notes),
        },
    }


def worker_set(of: JsonObject, index: int) -> JsonObject:
    """The StatefulSet of a group's workers, which its leader owns: their numbers begin at 1."""
    name, templates = f"{_name(of)}-{index}", of["spec"]["leaderWorkerTemplate"]
    labels = {
        f"{LWS}group-index": str(index),
        f"{LWS}name": _name(of),
        f"{LWS}group-key": _key(of, index),
        f"{LWS}template-revision-hash": "r1",
    }
    notes = {f"{LWS}size": str(templates["size"]), f"{LWS}leader-name": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"u-{name}-workers",
            "labels": labels,
            "ownerReferences": _owned("Pod", name, f"u-{name}"),
        },
        "spec": {
            "replicas": templates["size"] - 1,
            "ordinals": {"start": 1},
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": _with(templates["workerTemplate"], labels, notes),
        },
    }


def _with(template: JsonObject, labels: dict[str, str], notes: dict[str, str]) -> JsonObject:
    meta = template.get("metadata") or {}
    return {
        **template,
        "metadata": {
            "labels": {**(meta.get("labels") or {}), **labels},
            "annotations": {**(meta.get("annotations") or {}), **notes},
        },
    }


def _pod(of: JsonObject, name: str, life: int, labels: dict[str, str]) -> JsonObject:
    meta = of["spec"]["template"]["metadata"]
    value: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"u-{name}-{life}",
            "creationTimestamp": f"2026-01-01T00:00:0{life}Z",
            "labels": {**meta["labels"], **labels, "statefulset.kubernetes.io/pod-name": name},
            "annotations": dict(meta["annotations"]),
            "ownerReferences": _owned("StatefulSet", _name(of), of["metadata"]["uid"]),
        },
        "spec": dict(of["spec"]["template"]["spec"]),
        "status": {"phase": "Pending"},
    }
    return waiting(value, "Pod")


def leader(of: JsonObject, index: int, life: int = 0) -> JsonObject:
    """A leader's pod: LWS's webhook tells it its group when it is made."""
    labels = {f"{LWS}group-index": str(index), f"{LWS}group-key": _key(of, index)}
    return _pod(leader_set(of), f"{_name(of)}-{index}", life, labels)


def worker(of: JsonObject, index: int, number: int, life: int = 0) -> JsonObject:
    """A worker's pod: LWS's webhook tells it its number."""
    return _pod(worker_set(of, index), f"{_name(of)}-{index}-{number}", life, {f"{LWS}worker-index": str(number)})


def running(pod: JsonObject) -> JsonObject:
    """Let through and started."""
    return {**pod, "spec": {**pod["spec"], "schedulingGates": [], "nodeName": "n"}, "status": {"phase": "Running"}}


def key_of(of: JsonObject, index: int) -> str:
    name = workload_name("LeaderWorkerSet", "leaderworkerset.x-k8s.io", f"{_name(of)}-{index}", of["metadata"]["uid"])
    return f"team/{name}"


def told(view: View, *objects: JsonObject) -> list[Fact]:
    return [fact for one in objects for fact in view.see(one["kind"], one)]


def submitted(facts: list[Fact]) -> dict[str, WorkloadSubmitted]:
    return {one.workload: one for one in facts if isinstance(one, WorkloadSubmitted)}


def pods_of(view: View, key: str) -> dict[str, tuple[str, MemberState]]:
    return {one.name: (one.pod_set, one.state) for one in view.workloads[key].spec.members}


def sets_of(view: View, key: str) -> list[tuple[str, int]]:
    return [(one.name, one.count) for one in view.workloads[key].spec.pod_sets]


def test_each_group_is_one_workload_as_soon_as_its_leader_is_there() -> None:
    view, one = View(), the_set()
    facts = told(view, one, leader_set(one), leader(one, 0), leader(one, 1))
    found = submitted(facts)
    assert sorted(found) == sorted(key_of(one, index) for index in (0, 1))
    for index in (0, 1):
        owner = found[key_of(one, index)].owner
        assert owner is not None and (owner.kind, owner.name, owner.part) == ("LeaderWorkerSet", "vllm", str(index))
        assert sets_of(view, key_of(one, index)) == [("leader", 1), ("worker", 2)], "the size is the set's to say"


@pytest.mark.parametrize(("with_leader", "roles"), [(True, ("leader", "worker")), (False, ("main", "main"))])
def test_workers_join_their_leader_by_group_and_are_told_from_it_by_its_name(
    with_leader: bool, roles: tuple[str, str]
) -> None:
    view, one = View(), the_set(leader=with_leader)
    told(view, one, leader_set(one), leader(one, 0), leader(one, 1))
    facts = told(view, worker_set(one, 0), worker(one, 0, 1), worker(one, 0, 2), worker(one, 1, 1))
    assert not submitted(facts)
    gated = MemberState.GATED
    assert pods_of(view, key_of(one, 0)) == {
        "vllm-0": (roles[0], gated),
        "vllm-0-1": (roles[1], gated),
        "vllm-0-2": (roles[1], gated),
    }
    assert sorted(pods_of(view, key_of(one, 1))) == ["vllm-1", "vllm-1-1"]
    wanted = [("leader", 1), ("worker", 2)] if with_leader else [("main", 3)]
    assert sets_of(view, key_of(one, 0)) == wanted


def test_a_group_that_comes_later_is_younger_than_those_before_it_and_none_is_older_than_its_set() -> None:
    view, one = View(), put(the_set(), ("metadata", "creationTimestamp"), "2026-01-01T00:00:02Z")
    found = submitted(told(view, one, leader(one, 0, 1), leader(one, 1, 5)))
    since = {key: one.created_at % 60_000 for key, one in found.items()}
    assert since == {key_of(one, 0): 2000, key_of(one, 1): 5000}


def test_a_group_that_kueue_has_let_in_is_as_old_as_its_object_and_not_as_pods_that_were_made_anew_since() -> None:
    view, one = View(), the_set(replicas=1, size=1)
    told(view, one)
    given = {"clusterQueue": "cq", "podSetAssignments": [{"name": "leader", "count": 1, "flavors": {"cpu": "f"}}]}
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "r", "message": "m"}
    owner = {"apiVersion": one["apiVersion"], "kind": one["kind"], "name": "vllm", "uid": one["metadata"]["uid"]}
    meta = {"name": key_of(one, 0).partition("/")[2], "namespace": "team", "uid": "w", "ownerReferences": [owner]}
    pod_sets = [{"name": "leader", "count": 1, "template": TEMPLATE}]
    made = {
        "kind": "Workload",
        "metadata": {**meta, "creationTimestamp": "2026-01-01T00:00:03Z"},
        "spec": {"queueName": "lq", "active": True, "podSets": pod_sets},
        "status": {"admission": given, "conditions": [reserved]},
    }
    found = submitted(told(view, made, running(leader(one, 0, 7))))[key_of(one, 0)]
    assert found.adopted is not None and found.created_at % 60_000 == 3000


def test_groups_of_sets_whose_names_begin_alike_and_of_many_digits_are_told_apart() -> None:
    view, one, other = View(), the_set("a", replicas=12, size=1), the_set("a-1", replicas=1, size=1)
    told(view, one, other, *(leader(one, index) for index in (0, 1, 10, 11)), leader(other, 0))
    keys = [*(key_of(one, index) for index in (0, 1, 10, 11)), key_of(other, 0)]
    assert [list(pods_of(view, key)) for key in keys] == [["a-0"], ["a-1"], ["a-10"], ["a-11"], ["a-1-0"]]


def test_a_leader_alone_is_a_whole_group_where_the_size_is_one() -> None:
    view, one = View(), the_set(size=1)
    told(view, one, leader(one, 0))
    assert sets_of(view, key_of(one, 0)) == [("leader", 1)]


def test_a_group_that_is_made_anew_after_a_restart_is_the_same_workload() -> None:
    view, one = View(), the_set(replicas=1)
    whole = [leader(one, 0), worker(one, 0, 1), worker(one, 0, 2)]
    told(view, one, *whole)
    told(view, *(running(pod) for pod in whole))
    assert {state for _, state in pods_of(view, key_of(one, 0)).values()} == {MemberState.LIVE}

    # A container of a worker restarted: LWS deletes the leader in the foreground, and its workers go with it first.
    going = put(running(whole[0]), ("metadata", "deletionTimestamp"), "2026-01-01T01:00:00Z")
    facts = told(view, put(running(whole[1]), ("status", "phase"), "Failed"), going)
    facts += [fact for name in ("vllm-0-1", "vllm-0-2", "vllm-0") for fact in view.lose("Pod", "team", name)]
    facts += told(view, leader(one, 0, 1), worker(one, 0, 1, 1), worker(one, 0, 2, 1))
    assert not any(isinstance(fact, WorkloadFinished | WorkloadDeleted | WorkloadSubmitted) for fact in facts)
    members = view.workloads[key_of(one, 0)].spec.members
    assert {(pod.uid, pod.state) for pod in members} == {
        (f"u-{name}-1", MemberState.GATED) for name in ("vllm-0", "vllm-0-1", "vllm-0-2")
    }
    assert sets_of(view, key_of(one, 0)) == [("leader", 1), ("worker", 2)]


def test_a_group_goes_with_its_pods_when_there_are_to_be_fewer_and_comes_when_there_are_more() -> None:
    view, one = View(), the_set()
    told(view, one, leader(one, 0), leader(one, 1))
    facts = told(view, put(one, ("spec", "replicas"), 1))
    assert not any(isinstance(fact, WorkloadDeleted) for fact in facts), "its pods are still there"
    facts = view.lose("Pod", "team", "vllm-1")
    over = [one for one in facts if isinstance(one, WorkloadChanged) and one.spec.orphaned]
    assert [fact.workload for fact in over] == [key_of(one, 1)]
    assert key_of(one, 0) in view.workloads
    more = told(view, put(one, ("spec", "replicas"), 3), leader(one, 2))
    assert list(submitted(more)) == [key_of(one, 2)]


def test_a_group_beyond_the_replicas_that_a_rollout_makes_for_a_while_is_let_in_like_the_others() -> None:
    view, one = View(), the_set(replicas=1)
    facts = told(view, one, leader(one, 0), leader(one, 1))
    assert sorted(submitted(facts)) == sorted(key_of(one, index) for index in (0, 1))


@pytest.mark.parametrize("listed", [True, False])
def test_the_stateful_sets_behind_it_ask_for_nothing_themselves(listed: bool) -> None:
    everybody = SettingsObserved(without_queue=True)
    for settings, queue in ((SettingsObserved(), "lq"), (everybody, "lq"), (everybody, "")):
        view, one = View(settings=settings), the_set(queue=queue, kinds=kinds_of(settings))
        behind = [leader_set(one), worker_set(one, 0)]
        if listed:
            view.expect("StatefulSet", behind)
        facts = told(view, one, *behind, leader(one, 0), worker(one, 0, 1), *behind)
        facts += view.settle("StatefulSet")
        assert list(submitted(facts)) == [key_of(one, 0)], "its groups do"


def test_the_webhook_leaves_the_stateful_sets_behind_it_as_lws_writes_them() -> None:
    everybody = kinds_of(SettingsObserved(without_queue=True))
    one = the_set()
    for value in (leader_set(one), worker_set(one, 0)):
        assert waiting(value, "StatefulSet") == value
        assert waiting(value, "StatefulSet", everybody) == value
