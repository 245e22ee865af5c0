"""Which changes of pods the API server asks about.

Rule: docs/rules/objects.md#pods
"""

import pytest
from cel_expr_python import cel

from events.json_object import JsonObject
from ops.production.webhook.configurations import changed_pods, configurations
from services.jobs.defaulting import PLAIN

QUEUE, LIMIT = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/max-exec-time-seconds"
DYN = cel.Type.DYN
ENVIRONMENT = cel.NewEnv(variables={name: DYN for name in ("object", "oldObject", "request")})


def pod(labels: dict[str, str] | None = None, **notes: str) -> JsonObject:
    meta: JsonObject = {"name": "p"}
    return {
        "metadata": {
            **meta,
            **({} if labels is None else {"labels": labels}),
            **({"annotations": notes} if notes else {}),
        }
    }


def asked(old: JsonObject, new: JsonObject, writer: str = "jane") -> bool:
    data = {"object": new, "oldObject": old, "request": {"userInfo": {"username": writer}}}
    conditions = changed_pods(PLAIN, "kuelog-system").conditions.values()
    return all(ENVIRONMENT.compile(one).eval(data=data).plain_value() is True for one in conditions)


def test_a_change_of_a_managed_pod_is_asked_about_and_of_no_other_pod() -> None:
    validating = configurations("s", "kuelog-system", [])[1]
    (only,) = [one for one in validating["webhooks"] if one["name"] == "vchangedpod.kuelog.io"]
    assert [one["operations"] for one in only["rules"]] == [["UPDATE"]]
    assert only["rules"][0]["resources"] == ["pods"], "not its status, which the kubelet writes"
    managed = {"key": "kueue.x-k8s.io/managed", "operator": "Exists"}
    assert only["objectSelector"] == {"matchExpressions": [managed]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pod({QUEUE: "a"}), pod({QUEUE: "b"})),
        (pod({QUEUE: "a"}), pod({QUEUE: "a", LIMIT: "60"})),
        (pod({QUEUE: "a", LIMIT: "60"}), pod({QUEUE: "a"})),
        (pod({QUEUE: "a"}), pod()),
        (pod(), pod({}, **{"kueue.x-k8s.io/retriable-in-group": "false"})),
        (pod({}, **{"kueue.x-k8s.io/retriable-in-group": "false"}), pod({})),
    ],
)
def test_it_is_asked_about_when_a_label_or_annotation_of_kueues_changes(before: JsonObject, after: JsonObject) -> None:
    assert asked(before, after)
    assert not asked(before, before) and not asked(after, after)
    assert not asked(before, after, "system:serviceaccount:kuelog-system:kuelog-applier")


def test_what_schedulers_and_plugins_write_on_a_pod_waits_for_nobody() -> None:
    before = pod({QUEUE: "a", "pod-template-hash": "1"})
    assert not asked(before, pod({QUEUE: "a", "pod-template-hash": "2"}, **{"hami.io/vgpu-node": "n"}))
