"""What serves hands its queue to its pods, and what of it may not change."""

import pytest

from events.api.labels import MANAGED
from events.json_object import JsonObject
from events.json_path import get, put
from events.settings import SettingsObserved
from services.jobs.defaulting import queued_later, waiting
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.pods import gated, is_gated, is_held, role_of
from services.jobs.kinds.serving import pods_of_parent
from services.jobs.kinds.serving_rules import serving_problems

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


def test_a_stateful_set_names_its_group_and_size_once_and_its_queue_always_anew() -> None:
    made = waiting(stateful(), "StatefulSet")
    meta = made["spec"]["template"]["metadata"]
    assert meta["labels"] == {**LABELS, MANAGED: "true", "kueue.x-k8s.io/pod-group-name": GROUP}
    assert meta["annotations"]["kueue.x-k8s.io/pod-suspending-parent"] == "statefulset"
    assert meta["annotations"]["kueue.x-k8s.io/pod-group-total-count"] == "2"
    moved = put(put(made, ("metadata", "labels", QUEUE), "other"), ("spec", "replicas"), 0)
    meta = queued_later(moved, "StatefulSet")["spec"]["template"]["metadata"]
    assert meta["labels"][QUEUE] == "other"
    assert meta["annotations"]["kueue.x-k8s.io/pod-group-total-count"] == "2", "its pods need not be made anew for that"


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


def test_the_pods_of_a_stateful_set_have_the_role_by_which_kueue_finds_their_pod_set() -> None:
    template = waiting(stateful(), "StatefulSet")["spec"]["template"]
    pod = gated({"metadata": template["metadata"], "spec": template["spec"]})
    (pods,) = pods_of_parent("StatefulSet", waiting(stateful(), "StatefulSet"))
    assert pods.name == pod["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"] == "main"


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
    # Nor does Kueue find anything to add to one that was grouped here.
    meta = waiting(stateful(), "StatefulSet")["spec"]["template"]["metadata"]
    assert meta["labels"] == labels and {name: meta["annotations"][name] for name in notes} == notes


def test_every_template_of_a_leader_worker_set_is_labelled() -> None:
    found = waiting(leader_workers(), "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    for one in ("leaderTemplate", "workerTemplate"):
        assert found[one]["metadata"]["labels"] == LABELS
        notes = found[one]["metadata"]["annotations"]
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
        (put(stateful(2), ("metadata", "labels", QUEUE), None), stateful(3), ""),
    ],
)
def test_a_stateful_set_keeps_what_was_let_in(before: JsonObject, after: JsonObject, field: str) -> None:
    found = serving_problems("apps", "StatefulSet", before, after)
    assert [one.field for one in found] == ([field] if field else [])


def test_a_group_of_leader_and_workers_keeps_its_size() -> None:
    (found,) = serving_problems("leaderworkerset.x-k8s.io", "LeaderWorkerSet", leader_workers(2), leader_workers(3))
    assert found.field == "spec.leaderWorkerTemplate.size"


def test_a_deployment_may_change_all_but_its_queue_while_its_pods_are_ready() -> None:
    grown = {**stateful(3), "kind": "Deployment"}
    assert not serving_problems("apps", "Deployment", stateful(2), grown)
    moved = put(grown, ("metadata", "labels", QUEUE), "other")
    assert get(moved, ("metadata", "labels", QUEUE)) == "other"
    assert serving_problems("apps", "Deployment", stateful(2, readyReplicas=2), moved)


def test_the_pods_of_a_leader_worker_set_have_the_roles_by_which_kueue_finds_their_pod_sets() -> None:
    alone = put(leader_workers(), ("spec", "leaderWorkerTemplate", "leaderTemplate"), None)
    for value, names in ((leader_workers(), ["leader", "worker"]), (alone, ["main"])):
        made = waiting(value, "LeaderWorkerSet")
        shapes = pods_of_parent("LeaderWorkerSet", made)
        assert [one.name for one in shapes] == names
        assert [role_of(gated(one.template)) for one in shapes] == names
