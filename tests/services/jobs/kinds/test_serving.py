"""What serves hands its queue to its pods, and what of it may not change."""

import pytest

from events.api.labels import MANAGED
from events.json_object import JsonObject
from events.json_path import get, put
from events.settings import SettingsObserved
from services.jobs.defaulting import queued_later, waiting
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.pods import group_of, in_its_group, is_gated, is_held, waits_for_its_group
from services.jobs.kinds.serving import pods_of_parent, role_in
from services.jobs.kinds.serving_rules import serving_problems
from services.jobs.workload_name import workload_name

QUEUE = "kueue.x-k8s.io/queue-name"
GROUP = "statefulset-s-d1102"
"""As Kueue 0.15 and 0.17 call it: d1102 begins the SHA-1 of kind, group, name and no UID."""
LABELS = {QUEUE: "team", "kueue.x-k8s.io/priority-class": "p"}
POD = {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def stateful(count: int = 2, **status: int) -> JsonObject:
    meta = {"name": "s", "labels": LABELS}
    spec = {"replicas": count, "template": POD}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec, "status": status}


def leader_workers(size: int = 2) -> JsonObject:
    both = {"leaderTemplate": POD, "workerTemplate": POD, "size": size}
    meta = {"name": "l", "labels": LABELS}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "metadata": meta, "spec": {"leaderWorkerTemplate": both}}


def test_a_stateful_set_says_of_its_pods_alone_that_it_makes_them() -> None:
    """As under Kueue 0.17: what a template says more would have all pods made anew when it changes."""
    made = waiting(stateful(), "StatefulSet")
    (notes,) = made["spec"]["template"]["metadata"].values()
    assert notes == {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}
    assert queued_later(put(made, ("metadata", "labels", QUEUE), "other"), "StatefulSet")["spec"] == made["spec"]


def test_a_new_pod_of_a_stateful_set_waits_and_is_of_the_group_of_its_owner() -> None:
    template = waiting(stateful(), "StatefulSet")["spec"]["template"]
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u", "controller": True}
    meta = {**template["metadata"], "name": "s-0", "ownerReferences": [owner]}
    pod = waiting({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {}}, "Pod")
    assert is_gated(pod) and not is_held(pod)
    assert group_of(pod) == workload_name("StatefulSet", "apps", "s", "u")
    named = in_its_group(pod, group_of(pod), "team", "main", 2)
    assert group_of(named) == group_of(pod) and not waits_for_its_group(named)
    labels, notes = named["metadata"]["labels"], named["metadata"]["annotations"]
    assert labels[QUEUE] == "team" and labels["kueue.x-k8s.io/prebuilt-workload-name"] == group_of(pod)
    assert notes["kueue.x-k8s.io/role-hash"] == "main" and notes["kueue.x-k8s.io/pod-group-total-count"] == "2"
    assert notes["kueue.x-k8s.io/pod-group-pod-index-label"] == "apps.kubernetes.io/pod-index"


def test_a_copy_of_a_stateful_set_names_its_group_size_and_queue_once() -> None:
    """By the UID of what it is a copy of, which its pods do not know; what a template says more later has all pods made anew."""
    copy = put(stateful(), ("metadata", "annotations"), {"kueue.x-k8s.io/multikueue-origin-uid": ""})
    copy = put(copy, ("spec", "template", "metadata", "labels"), {"kueue.x-k8s.io/pod-group-name": GROUP})
    made = waiting(copy, "StatefulSet")
    meta = made["spec"]["template"]["metadata"]
    assert meta["labels"] == {**LABELS, MANAGED: "true", "kueue.x-k8s.io/pod-group-name": GROUP}
    assert meta["annotations"]["kueue.x-k8s.io/pod-suspending-parent"] == "statefulset"
    assert meta["annotations"]["kueue.x-k8s.io/pod-group-total-count"] == "2"
    moved = put(put(made, ("metadata", "labels", QUEUE), "other"), ("spec", "replicas"), 3)
    moved = put(moved, ("metadata", "labels", "kueue.x-k8s.io/priority-class"), "q")
    assert queued_later(moved, "StatefulSet")["spec"]["template"] == made["spec"]["template"]


def test_another_queue_makes_no_pod_of_a_leader_worker_set_anew_that_names_one_in_its_templates() -> None:
    """As an earlier kuelog wrote it there."""
    made = waiting(leader_workers(), "LeaderWorkerSet")
    for part in ("leaderTemplate", "workerTemplate"):
        made = put(made, ("spec", "leaderWorkerTemplate", part, "metadata", "labels", QUEUE), "team")
    moved = put(made, ("metadata", "labels", QUEUE), "other")
    assert queued_later(moved, "LeaderWorkerSet")["spec"] == made["spec"]


def test_the_user_of_what_serves_is_that_of_its_pods_whatever_their_template_says() -> None:
    named = {**LABELS, "kuelog.io/user": "ann"}
    template = put(POD, ("metadata", "labels"), {"kuelog.io/user": "ben"})
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": named}}
    held = waiting({**made, "spec": {"template": template}}, "Deployment")
    assert get(held, ("spec", "template", "metadata", "labels", "kuelog.io/user")) == "ann"
    moved = put(held, ("metadata", "labels", "kuelog.io/user"), "cat")
    later = queued_later(moved, "Deployment")
    assert get(later, ("spec", "template", "metadata", "labels", "kuelog.io/user")) == "cat"
    nobody = waiting({**made, "metadata": {"name": "d", "labels": LABELS}, "spec": {"template": POD}}, "Deployment")
    assert get(nobody, ("spec", "template", "metadata", "labels", "kuelog.io/user")) is None


def test_a_stateful_set_that_kueue_has_grouped_keeps_its_template_so_that_its_pods_are_not_made_anew() -> None:
    labels = {**LABELS, MANAGED: "true", "kueue.x-k8s.io/pod-group-name": GROUP}
    notes = {
        "kueue.x-k8s.io/pod-suspending-parent": "statefulset",
        "kueue.x-k8s.io/pod-group-total-count": "2",
        "kueue.x-k8s.io/pod-group-fast-admission": "true",
        "kueue.x-k8s.io/pod-group-serving": "true",
        "kueue.x-k8s.io/pod-group-pod-index-label": "apps.kubernetes.io/pod-index",
    }
    made = put(stateful(), ("spec", "template"), {**POD, "metadata": {"labels": labels, "annotations": notes}})
    assert queued_later(made, "StatefulSet") == made


def test_every_template_of_a_leader_worker_set_says_who_makes_its_pods_and_in_which_class() -> None:
    found = waiting(leader_workers(), "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    for one in ("leaderTemplate", "workerTemplate"):
        assert found[one]["metadata"]["labels"] == {"kueue.x-k8s.io/priority-class": "p"}
        notes = found[one]["metadata"]["annotations"]
        assert "kueue.x-k8s.io/role-hash" not in notes, "each pod gets it when it is let through"
        assert notes["kueue.x-k8s.io/pod-suspending-parent"] == "leaderworkerset.x-k8s.io/leaderworkerset"
        assert notes["kueue.x-k8s.io/pod-group-serving"] == "true"


def test_a_leader_worker_set_that_we_or_kueue_have_labelled_before_keeps_its_templates() -> None:
    for word in ("leaderworkerset", "leaderworkerset.x-k8s.io/leaderworkerset"):
        notes = {"kueue.x-k8s.io/pod-suspending-parent": word}
        value = put(leader_workers(), ("spec", "leaderWorkerTemplate", "leaderTemplate"), None)
        at = ("spec", "leaderWorkerTemplate", "workerTemplate", "metadata")
        made = put(value, at, {"labels": LABELS, "annotations": notes})
        assert queued_later(made, "LeaderWorkerSet") == made


def test_a_new_pod_of_a_leader_worker_set_waits_as_kueue_would_have_it_wait() -> None:
    template = waiting(leader_workers(), "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    for labels in (template["metadata"]["labels"], {}):
        plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "labels": labels}, "spec": {}}
        pod = waiting(plain, "Pod")
        assert is_gated(pod) and not is_held(pod)
        # Kueue's manager gives queue and group to the pods of a LeaderWorkerSet that name no queue, and to no others.
        assert QUEUE not in pod["metadata"]["labels"]


def test_only_frameworks_that_are_named_are_held_back() -> None:
    only_sets = kinds_of(SettingsObserved(frameworks=("statefulset",)))
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": LABELS}, "spec": {}}
    made = put(plain, ("metadata", "annotations"), {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"})
    assert not is_gated(waiting(plain, "Pod", only_sets)) and is_gated(waiting(made, "Pod", only_sets))
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", **stateful()}
    assert waiting({**deployment, "kind": "Deployment"}, "Deployment", only_sets)["spec"]["template"] == POD
    only_pods = kinds_of(SettingsObserved(frameworks=("pod",)))
    assert is_gated(waiting(plain, "Pod", only_pods)) and not is_gated(waiting(made, "Pod", only_pods))
    assert waiting(stateful(), "StatefulSet", only_pods) == stateful()


def test_what_is_made_anew_without_us_is_not_held() -> None:
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": LABELS}, "spec": {}}
    assert is_held(waiting(plain, "Pod"))
    assert waiting(waiting(plain, "Pod"), "Pod")["metadata"]["finalizers"] == [MANAGED]
    made = put(plain, ("metadata", "annotations"), {"kueue.x-k8s.io/pod-suspending-parent": "deployment"})
    assert is_gated(waiting(made, "Pod")) and not is_held(waiting(made, "Pod"))


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        (stateful(2), stateful(3), "spec.replicas"),
        (stateful(2), stateful(1), "spec.replicas"),
        (stateful(2), stateful(0), ""),
        (stateful(0), stateful(3), ""),
        (stateful(0, replicas=1), stateful(3), "spec.replicas"),
        (stateful(2), put(stateful(2), ("spec", "template", "spec", "nodeSelector"), {"a": "b"}), "spec.template.spec"),
        (stateful(0), put(stateful(0), ("spec", "template", "spec", "nodeSelector"), {"a": "b"}), ""),
        (stateful(2), put(stateful(2), ("spec", "template", "metadata", "labels"), {"a": "b"}), ""),
        (stateful(2), put(stateful(2), ("metadata", "labels", QUEUE), "other"), ""),
        (
            stateful(2, readyReplicas=1),
            put(stateful(2), ("metadata", "labels", QUEUE), "x"),
            f"metadata.labels[{QUEUE}]",
        ),
        (stateful(2), put(stateful(3), ("metadata", "labels"), {}), f"metadata.labels[{QUEUE}]"),
        (stateful(0), put(stateful(0), ("metadata", "labels", QUEUE), None), f"metadata.labels[{QUEUE}]"),
        (put(stateful(2), ("metadata", "labels", QUEUE), None), stateful(3), ""),
    ],
)
def test_a_stateful_set_keeps_what_was_let_in(before: JsonObject, after: JsonObject, field: str) -> None:
    found = serving_problems("apps", "StatefulSet", before, after)
    assert [one.field for one in found] == ([field] if field else [])


SPEC = ("spec", "template", "spec")
ASKING = {"name": "c", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "a.io/card": "1"}}}


@pytest.mark.parametrize(
    ("field", "to", "taken"),
    [
        ("containers", [{**ASKING, "name": "other", "image": "newer"}], True),
        (
            "containers",
            [{**ASKING, "resources": {**ASKING["resources"], "limits": {"cpu": "3", "a.io/card": "1"}}}],
            True,
        ),
        (
            "containers",
            [{**ASKING, "resources": {**ASKING["resources"], "limits": {"cpu": "2", "a.io/card": "2"}}}],
            False,
        ),
        ("containers", [{**ASKING, "resources": {"requests": {"cpu": "1"}}}], False),
        ("containers", [{**ASKING, "ports": [{"containerPort": 80}]}], False),
        ("resourceClaims", [{"name": "gpu", "resourceClaimTemplateName": "gpu"}], False),
        ("overhead", {"cpu": "1"}, False),
        ("topologySpreadConstraints", [{"maxSkew": 1}], False),
        ("priority", 7, False),
    ],
)
def test_pods_that_run_keep_what_they_ask_for_and_nothing_else(field: str, to: object, taken: bool) -> None:  # noqa: FBT001
    before = put(stateful(2), (*SPEC, "containers"), [ASKING])
    found = serving_problems("apps", "StatefulSet", before, put(before, (*SPEC, field), to))
    assert [one.field for one in found] == ([] if taken else ["spec.template.spec"])


def test_a_group_of_leader_and_workers_keeps_its_size() -> None:
    (found,) = serving_problems("leaderworkerset.x-k8s.io", "LeaderWorkerSet", leader_workers(2), leader_workers(3))
    assert found.field == "spec.leaderWorkerTemplate.size"


def test_a_leader_worker_set_may_name_another_queue_until_one_of_its_pods_is_ready() -> None:
    waits = leader_workers(2)
    moved = put(waits, ("metadata", "labels", QUEUE), "other")
    ready = {**waits, "status": {"readyReplicas": 1}}
    assert serving_problems("leaderworkerset.x-k8s.io", "LeaderWorkerSet", waits, moved) == []
    (found,) = serving_problems("leaderworkerset.x-k8s.io", "LeaderWorkerSet", ready, moved)
    assert found.field == f"metadata.labels[{QUEUE}]"
    left = put(waits, ("metadata", "labels", QUEUE), None)
    assert serving_problems("leaderworkerset.x-k8s.io", "LeaderWorkerSet", waits, left), "it would run in none"


@pytest.mark.parametrize("size", [1, 2])
def test_its_groups_get_no_leader_of_their_own_nor_lose_it_while_there_are_any(size: int) -> None:
    at = ("spec", "leaderWorkerTemplate", "leaderTemplate")
    led = leader_workers(size)
    alone = put(led, at, None)
    for before, after in ((led, alone), (alone, led)):
        (found,) = serving_problems("leaderworkerset.x-k8s.io", "LeaderWorkerSet", before, after)
        assert found.field == "spec.leaderWorkerTemplate.leaderTemplate"
        empty = put(before, ("spec", "replicas"), 0)
        assert serving_problems("leaderworkerset.x-k8s.io", "LeaderWorkerSet", empty, after) == []


def test_a_deployment_may_change_all_but_its_queue_while_its_pods_are_ready() -> None:
    grown = {**stateful(3), "kind": "Deployment"}
    assert not serving_problems("apps", "Deployment", stateful(2), grown)
    moved = put(grown, ("metadata", "labels", QUEUE), "other")
    assert get(moved, ("metadata", "labels", QUEUE)) == "other"
    assert serving_problems("apps", "Deployment", stateful(2, readyReplicas=2), moved)


def test_the_pods_of_a_leader_worker_set_have_the_roles_by_which_kueue_finds_their_pod_sets() -> None:
    alone = put(leader_workers(), ("spec", "leaderWorkerTemplate", "leaderTemplate"), None)
    worker = put(POD, ("metadata", "annotations"), {"leaderworkerset.sigs.k8s.io/leader-name": "l-0"})
    for value, names in ((leader_workers(), ["leader", "worker"]), (alone, ["main", "main"])):
        made = waiting(value, "LeaderWorkerSet")
        assert {one.name for one in pods_of_parent("LeaderWorkerSet", made)} == {*names}
        assert [role_in(POD, made), role_in(worker, made)] == names
