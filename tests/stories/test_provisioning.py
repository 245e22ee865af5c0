"""A cluster autoscaler is asked before a job starts: the whole way through a cluster, each story decided again after it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from events.provisioning import ProvisioningOrdered
from ops.production.archive.history import read_everything
from ops.production.log.streams import PARTITION
from ops.production.served import SERVICES
from ops.queries.replay import fold_partition
from services.provisioning_kinds import REQUESTS
from services.runtime.cluster_port import ObjectInvalid, Resource
from tests.stage.cluster import UNTIL_ENDED_S
from tests.stage.stage import Stage, job
from tests.stories.autoscaler import (
    CLASS,
    DEFINITION,
    answer,
    asked,
    check_of,
    config,
    requests,
    require_nodes,
    set_active,
    templates,
)
from tests.stories.test_checks import conditions, workload

CONFIGS = Resource(
    group="kueue.x-k8s.io",
    version="v1beta2",
    plural="provisioningrequestconfigs",
    kind="ProvisioningRequestConfig",
    namespaced=False,
)
CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS_NAME = "autoscaling.x-k8s.io/provisioning-class-name"
SHORT = {"backoffLimitCount": 2, "backoffBaseSeconds": 1, "backoffMaxSeconds": 2}
Play = Callable[[Stage], Awaitable[None]]


async def staged(stage: Stage, play: Play, spec: dict[str, Any]) -> None:
    """A queue that asks for nodes as `spec` says, and what is played with it; then all is decided again."""
    await stage.add(DEFINITION)
    await stage.add(config(**spec))
    await require_nodes(stage)
    stage.serve()
    await asyncio.wait_for(play(stage), 90)
    entries = await read_everything(stage.bus)
    _, replayed = fold_partition(PARTITION, entries, verify=True)
    assert not replayed.differences, "every decision, decided again, is the same"
    assert replayed.state_hash == fold_partition(PARTITION, entries)[1].state_hash


def template(stage: Stage, name: str = "patient") -> dict[str, Any]:
    return stage.get("jobs.batch", "default", name)["spec"]["template"]


def told(stage: Stage) -> set[str]:
    return {one["reason"] for one in stage.of("events")}


def owner_of(value: dict[str, Any]) -> tuple[str, str]:
    (owner,) = value["metadata"]["ownerReferences"]
    return owner["kind"], owner["name"]


async def provisioned(stage: Stage) -> None:
    patient: dict[str, Any] = job("patient", UNTIL_ENDED_S)
    patient["metadata"]["annotations"] = {"provreq.kueue.x-k8s.io/ValidUntilSeconds": "60"}
    await stage.add(patient)
    request = await asked(stage, 1)
    before = template(stage)
    name = request["metadata"]["name"]
    assert name == f"{workload(stage)['metadata']['name']}-nodes-1"
    assert request["metadata"]["labels"] == {"kueue.x-k8s.io/managed": "true"}
    (owner,) = request["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Workload", workload(stage)["metadata"]["uid"])
    assert owner["controller"] and owner["blockOwnerDeletion"]
    assert request["spec"] == {
        "provisioningClassName": CLASS,
        "parameters": {"Zone": "a", "ValidUntilSeconds": "60"},
        "podSets": [{"podTemplateRef": {"name": f"ppt-{name}-main"}, "count": 1}],
    }
    spec = templates(stage)[f"ppt-{name}-main"]["template"]["spec"]
    assert spec["nodeSelector"] == {"zone": "a"}, "the flavor's"
    assert {"key": "nvidia.com/gpu", "operator": "Exists"} in spec["tolerations"]
    assert spec["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] == "1", "limits are asked for"
    await stage.until(lambda: owner_of(templates(stage)[f"ppt-{name}-main"]) == ("ProvisioningRequest", name))
    assert not stage.running("patient")
    await answer(stage, request, Accepted="", Provisioned="not:ready at noon")
    await stage.until(lambda: check_of(stage, "patient").get("message") == "ready at noon")
    await answer(stage, request, details={"NodePool": "a"}, Accepted="", Provisioned="there")
    await stage.until(lambda: stage.running("patient"))
    running = template(stage)
    assert running["metadata"]["annotations"][CONSUMES] == name
    assert running["metadata"]["annotations"][CLASS_NAME] == CLASS
    assert running["spec"]["nodeSelector"] == {"zone": "a"}
    assert check_of(stage, "patient")["podSetUpdates"][0]["nodeSelector"] == {"zone": "a"}
    await stage.until(lambda: {"ProvisioningRequestCreated", "AdmissionCheckUpdated"} <= told(stage))
    await answer(stage, request, Accepted="", Provisioned="there", BookingExpired="over")
    await answer(stage, request, Accepted="", Provisioned="there", CapacityRevoked="the nodes are gone")
    await stage.until(lambda: conditions(stage).get("QuotaReserved") == ("False", "Deactivated"))
    assert conditions(stage)["Evicted"] == ("True", "DeactivatedDueToAdmissionCheck")
    await stage.until(lambda: not requests(stage) and not templates(stage))
    await stage.until(lambda: template(stage) == before)


async def failed_too_often(stage: Stage) -> None:
    await stage.add(job("patient", UNTIL_ENDED_S))
    for attempt in (1, 2):
        await answer(stage, await asked(stage, attempt), Failed="no capacity")
        await stage.until(lambda count=attempt: check_of(stage, "patient").get("retryCount") == count)
    await answer(stage, await asked(stage, 3), Failed="never")
    await stage.until(lambda: conditions(stage).get("QuotaReserved") == ("False", "Deactivated"))
    await stage.until(lambda: workload(stage)["spec"]["active"] is False)
    assert not stage.running("patient")
    await stage.until(lambda: "AdmissionCheckRejected" in told(stage))
    await stage.until(lambda: not requests(stage))
    await set_active(stage, workload(stage)["metadata"]["name"])
    await answer(stage, await asked(stage, 3), Provisioned="there")
    await stage.until(lambda: stage.running("patient"))


async def booking_expired(stage: Stage) -> None:
    await stage.add(job("patient", 3600))
    await answer(stage, await asked(stage, 1), Accepted="", BookingExpired="too late")
    second = await asked(stage, 2)
    await answer(stage, second, Provisioned="there")
    await stage.until(lambda: stage.running("patient"))
    await answer(stage, second, Provisioned="there", BookingExpired="over")
    await stage.end_pods("patient")
    await stage.until(lambda: stage.complete("patient"))
    await stage.until(lambda: not requests(stage) and not templates(stage))


async def preempted(stage: Stage) -> None:
    await stage.add(job("patient", UNTIL_ENDED_S))
    first = await asked(stage, 1)
    await answer(stage, first, Provisioned="there")
    await stage.until(lambda: stage.running("patient"))
    await stage.add(job("urgent", 5, urgent=True))
    await stage.until(lambda: first["metadata"]["name"] not in requests(stage))
    await stage.until(lambda: any("urgent" in name for name in requests(stage)))
    (urgent,) = [one for name, one in requests(stage).items() if "urgent" in name]
    await answer(stage, urgent, Provisioned="there")
    await stage.until(lambda: stage.complete("urgent"))

    def another() -> bool:
        found = requests(stage).get(first["metadata"]["name"])
        return found is not None and found["metadata"]["uid"] != first["metadata"]["uid"]

    await stage.until(another)
    assert not stage.running("patient"), "what was there for the first attempt counts no more"
    await answer(stage, requests(stage)[first["metadata"]["name"]], Provisioned="there")
    await stage.until(lambda: stage.running("patient"))
    await stage.end_pods("patient")
    await stage.until(lambda: stage.complete("patient"))


async def lost(stage: Stage) -> None:
    await stage.add(job("patient", 3600))
    first = await asked(stage, 1)
    name, uid = first["metadata"]["name"], first["metadata"]["uid"]
    await stage.until(lambda: owner_of(templates(stage)[f"ppt-{name}-main"]) == ("ProvisioningRequest", name))
    await stage.client.delete(REQUESTS, "default", name)

    def made_anew() -> bool:
        found = requests(stage).get(name)
        if found is None or found["metadata"]["uid"] == uid:
            return False
        owners = [one["metadata"]["ownerReferences"][0]["uid"] for one in templates(stage).values()]
        return owners == [found["metadata"]["uid"]]

    await stage.until(made_anew)
    await answer(stage, requests(stage)[name], Provisioned="there")
    await stage.until(lambda: stage.running("patient"))
    await stage.client.delete(REQUESTS, "default", name)
    await stage.until(lambda: not templates(stage))
    assert stage.running("patient")


async def nothing_managed(stage: Stage) -> None:
    await stage.add(job("patient", UNTIL_ENDED_S))
    await stage.until(lambda: stage.running("patient"))
    assert check_of(stage, "patient")["message"] == "the provisioning request is not needed"
    assert not requests(stage)


SELECTOR = {"nodeSelector": [{"key": "zone", "valueFromProvisioningClassDetail": "NodePool"}]}


@pytest.mark.parametrize(
    ("play", "spec"),
    [
        (provisioned, {"podSetUpdates": SELECTOR}),
        (failed_too_often, {"retryStrategy": SHORT}),
        (booking_expired, {"retryStrategy": SHORT}),
        (preempted, {}),
        (lost, {}),
        (nothing_managed, {"managedResources": ["example.com/other"]}),
    ],
    ids=lambda one: one.__name__.replace("_", " ") if callable(one) else "",
)
async def test_a_job_waits_for_its_nodes(play: Play, spec: dict[str, Any], stage: Stage) -> None:
    await staged(stage, play, spec)


async def test_a_check_without_a_good_configuration_is_inactive_until_it_has_one(stage: Stage) -> None:
    await stage.add(DEFINITION)
    await require_nodes(stage)
    stage.serve()
    await stage.add(job("patient", UNTIL_ENDED_S))

    def active() -> tuple[str, str, str]:
        found = stage.get("admissionchecks.kueue.x-k8s.io", "", "nodes")
        (one,) = found.get("status", {}).get("conditions") or [{}]
        return one.get("status", ""), one.get("reason", ""), one.get("message", "")

    await stage.until(lambda: active()[0] == "False")
    assert active()[1:] == (
        "BadParametersRef",
        'ProvisioningRequestConfig.kueue.x-k8s.io "config" not found',
    )
    broken = config(retryStrategy={"backoffLimitCount": -1})
    if stage.cluster.real:  # Where the webhooks are asked, it does not get that far.
        with pytest.raises(ObjectInvalid, match="-1 is negative"):
            await stage.add(broken)
        await stage.add(config(retryStrategy={"backoffLimitCount": 1}))
    else:
        await stage.add(broken)
        await stage.until(lambda: "-1 is negative" in active()[2])
        assert not requests(stage)
        found = stage.get("clusterqueues.kueue.x-k8s.io", "", "team")
        (standing,) = found["status"]["conditions"]
        assert (standing["status"], standing["reason"]) == ("False", "AdmissionCheckInactive")
        mended = {"spec": {"retryStrategy": {"backoffLimitCount": 1}}}
        await stage.client.merge(CONFIGS, "", "config", mended)
    await stage.until(lambda: active() == ("True", "Active", "The admission check is active"))
    await asked(stage, 1)


async def test_a_cluster_without_an_autoscaler_is_told_of_and_asked_when_it_gets_one(stage: Stage) -> None:
    await stage.add(config())
    await require_nodes(stage)
    stage.serve()
    await stage.add(job("patient", UNTIL_ENDED_S))
    await stage.until(lambda: "knows no ProvisioningRequest" in check_of(stage, "patient").get("message", ""))
    await stage.until(lambda: "FailedCreate" in told(stage))
    assert check_of(stage, "patient")["state"] == "Pending" and not stage.running("patient")
    await stage.add(DEFINITION)
    request = await asked(stage, 1)
    await stage.until(lambda: check_of(stage, "patient")["message"] == "")
    await answer(stage, request, Provisioned="there")
    await stage.until(lambda: stage.running("patient"))


@pytest.mark.parametrize("crash", ["create:after:2", "create:before:3", "create:after:3", "get:after:3"])
async def test_an_applier_that_dies_while_it_asks_leaves_one_request_behind(crash: str, stage: Stage) -> None:
    await stage.add(DEFINITION)
    await stage.add(config())
    await require_nodes(stage)
    stage.serve(*(one for one in SERVICES if one != "applier"), replica="others")
    mortal = await stage.start_process("applier", crash)
    await mortal.serving()
    await stage.add(job("patient", UNTIL_ENDED_S))
    assert await mortal.ended() == -9
    stage.serve("applier", replica="successor")
    request = await asked(stage, 1)
    assert len(requests(stage)) == len(templates(stage)) == 1
    await answer(stage, request, Provisioned="there")
    await stage.until(lambda: stage.running("patient"))
    fold, _ = fold_partition(PARTITION, await read_everything(stage.bus))
    (one,) = fold.world.workloads.values()
    assert isinstance(one.provisioning["nodes"].order, ProvisioningOrdered)
