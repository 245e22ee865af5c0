"""Pods of what serves get the names of their group, and the queue of now, when they are let through."""

import pytest
from msgspec.structs import replace

from events.api.labels import (
    ADMISSION_GATE,
    POD_GROUP_NAME,
    POD_SUSPENDING_PARENT,
    PREBUILT_WORKLOAD_NAME,
    QUEUE_NAME,
    ROLE_HASH,
)
from events.json_object import JsonObject
from events.workload import Member, Owner
from services.applier.plan import Application
from services.applier.pods.start_or_end import PODS, start_or_end_pods
from services.jobs.kinds.table import STATEFUL_SET
from services.jobs.pod_sets.pod_set import Injection, Original
from tests.services.applier.in_process import InProcess
from tests.services.applier.workloads.test_what_others_write import application

SET = Owner(kind="StatefulSet", name="s", uid="u-s", api_version="apps/v1")


def starting(pod: JsonObject) -> Application:
    """What lets this pod through."""
    member = Member(name="s-0", uid=pod["metadata"]["uid"], pod_set="main")
    given = application("w", 1, owner=SET)
    original = Original(name="main", count=1)
    injection = Injection(count=1, original=original)
    return replace(
        given, kind=STATEFUL_SET, run=True, members=(member,), gate=("s-0",), injections=(injection,), job="s"
    )


@pytest.mark.parametrize("named", ["", "statefulset-s-d1102"])
async def test_a_pod_of_a_stateful_set_bears_its_queue_of_now_and_keeps_a_group_that_its_template_names(
    named: str,
) -> None:
    cluster = InProcess([], seed=1)
    labels = {QUEUE_NAME: "before", POD_GROUP_NAME: named} if named else {}
    meta = {"name": "s-0", "labels": labels, "annotations": {POD_SUSPENDING_PARENT: "statefulset", ROLE_HASH: "x"}}
    spec = {"containers": [{"name": "c", "image": "x"}], "schedulingGates": [{"name": ADMISSION_GATE}]}
    pod = cluster.resources.create(cluster.kind(PODS), "default", {"metadata": meta, "spec": spec})

    async def as_it_is(application: Application, _: JsonObject) -> Application:
        return application

    await start_or_end_pods(cluster, starting(pod), as_it_is)
    found = await cluster.get(PODS, "default", "s-0")
    assert not found["spec"].get("schedulingGates")
    labels, notes = found["metadata"]["labels"], found["metadata"]["annotations"]
    assert (labels[QUEUE_NAME], labels[POD_GROUP_NAME]) == ("lq", named or "w")
    assert (labels.get(PREBUILT_WORKLOAD_NAME, ""), notes[ROLE_HASH]) == (("", "x") if named else ("w", "main"))
