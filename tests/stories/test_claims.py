"""Jobs whose pods claim devices, on a cluster: counted in quota, waiting, running to their end, refused in Kueue's words."""

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from tests.services.watcher.claims.claim_objects import resource_slice, settings
from tests.stage.cluster import Cluster
from tests.stage.stage import Stage, job
from tests.stories.claiming import (
    DRIVER,
    MAPPED,
    PARTITIONS,
    SHARES,
    WORKLOADS,
    asked,
    claiming,
    devices,
    node,
    one_class,
    one_template,
    queue_manifests,
    set_up,
    told_of,
    until_shown,
    usage_of,
    workload_of,
)

pytestmark = pytest.mark.usefixtures("devices_are_given")
REFUSED = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
CLAIMS = "resourceclaims.resource.k8s.io"


@pytest.fixture
def devices_are_given(cluster: Cluster) -> None:
    """Skip where nobody makes claims and allocates devices: that is for kube-controller-manager and kube-scheduler."""
    if cluster.real and not cluster.managed:
        pytest.skip("nobody allocates devices here: KUEBUILDER_ASSETS has no kube-scheduler")


def claiming_by(claim: JsonObject) -> JsonObject:
    """A job whose pods claim a device beside what their container asks for."""
    found = job("claims", 36000)
    pods = found["spec"]["template"]["spec"]
    pods["resourceClaims"] = [{"name": "gpu", **claim}]
    pods["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    return found


async def test_two_devices_for_each_of_three_pods_are_six_and_who_finds_none_left_waits_until_they_have_ended(
    stage: Stage,
) -> None:
    await set_up(
        stage, node(), devices(8), one_class(), one_template("two", count=2), *queue_manifests("gpus", nominal=8)
    )
    await stage.add(claiming("first", templates=("two",), pods=3))
    await stage.until(lambda: stage.running("first"))
    assert usage_of(stage, "first") == {"gpus": "6"}
    await stage.add(claiming("second", templates=("two",), pods=2, seconds=1))
    await stage.until(lambda: "insufficient unused quota for gpus" in told_of(stage, "second")[2])
    assert told_of(stage, "second")[0] == "False"
    (asked,) = workload_of(stage, "second")["status"]["resourceRequests"]
    assert asked["resources"] == {"gpus": "4"}
    await stage.end_pods("first")
    await stage.until(lambda: stage.complete("first", "second"))
    await stage.until(lambda: not stage.of(CLAIMS))


async def test_each_pod_gets_devices_of_its_own(stage: Stage) -> None:
    await set_up(
        stage, node(), devices(4), one_class(), one_template("two", count=2), *queue_manifests("gpus", nominal=8)
    )
    await stage.add(claiming("both", templates=("two",), pods=2))
    await stage.until(lambda: stage.get("jobs.batch", "default", "both").get("status", {}).get("ready", 0) == 2)
    given = [one["status"]["allocation"]["devices"]["results"] for one in stage.of(CLAIMS)]
    assert sorted(result["device"] for each in given for result in each) == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]


def held_by(shown: list[JsonObject]) -> list[tuple[str, str]]:
    """Each device's holder, by name, and the class of which it is held."""
    held = [one["holders"][0] for one in shown if one["holders"]]
    return sorted((one["holder"], one["device_class"]) for one in held)


async def test_who_holds_which_device_is_shown_as_of_any_time_and_counted_for_the_bill(stage: Stage) -> None:
    ext = one_class("ext", extended="example.com/gpu")
    told = settings({"gpus": ["gpu", "ext"]})
    queues = queue_manifests("gpus", nominal=8)
    await set_up(stage, node(), devices(4), one_class(), ext, one_template("two", count=2), *queues, told=told)
    await stage.add(claiming("first", templates=("two",)))
    await stage.add(claiming("other", templates=(), limits={"example.com/gpu": 1}))
    running = lambda: stage.running("first") and stage.running("other")  # noqa: E731
    await stage.until(running)
    held = [("default/first", "gpu"), ("default/first", "gpu"), ("default/other", "ext")]
    shown = await until_shown(stage, lambda found: held_by(found) == held)
    assert all(one["node"] == "plain" and one["state"] == "ok" for one in shown)
    (then,) = {one["holders"][0]["resource"] for one in shown if one["holders"]}
    assert then == "gpus"
    held_at = (await asked(stage, "devices"))["at"]
    await stage.end_pods("first")
    await stage.end_pods("other")
    await stage.until(lambda: stage.complete("first", "other") and not stage.of(CLAIMS))
    await until_shown(stage, lambda found: not any(one["holders"] for one in found))
    past = await asked(stage, "devices", "--at", held_at)
    assert past["claimable"] == shown
    billed = (await asked(stage, "bill"))["claimed"]
    assert [(one["job"], one["cluster_queue"], one["resource"]) for one in billed] == [
        ("default/first", "claims", "gpus"),
        ("default/other", "claims", "gpus"),
    ]
    assert all(one["device_ms"] > 0 for one in billed)


async def test_a_class_that_is_not_mapped_is_refused_and_a_template_that_comes_later_lets_the_job_in(
    stage: Stage,
) -> None:
    await set_up(
        stage, node(), devices(4), one_class(), one_template("other", of="nic"), *queue_manifests("gpus", nominal=8)
    )
    await stage.add(claiming("nic", templates=("other",)))
    at = "spec.podSets[0].template.spec.resourceClaims[0]"
    why = f'{at}.resourceClaimTemplateName: Not found: "DeviceClass nic is not mapped in DRA configuration for podset main"'
    await stage.until(lambda: told_of(stage, "nic") == ("False", "Misconfigured", why))
    await stage.add(claiming("early"))
    missing = 'failed to get claim spec for ResourceClaimTemplate one in podset main: resourceclaimtemplates.resource.k8s.io "one" not found'
    await stage.until(lambda: told_of(stage, "early") == ("False", "Misconfigured", f"{at}: Internal error: {missing}"))
    await stage.add(one_template())
    await stage.until(lambda: stage.running("early"))
    assert not stage.running("nic")


async def test_a_request_that_no_device_meets_waits_for_the_slice_that_has_some(stage: Stage) -> None:
    large = one_template("large", cel=f"device.attributes['{DRIVER}'].size >= 2")
    await set_up(stage, node(), devices(2, size=1), one_class(), large, *queue_manifests("gpus", nominal=8))
    await stage.add(claiming("large", templates=("large",)))
    few = "insufficient matching devices for CEL selector in DeviceClass gpu: 0 device(s) match in the cluster but 1 requested"
    await stage.until(lambda: few in told_of(stage, "large")[2])
    await stage.add(devices(1, name="more", size=2))
    await stage.until(lambda: stage.running("large"))


async def test_an_extended_resource_is_counted_by_the_class_behind_it(stage: Stage) -> None:
    await set_up(stage, node(), devices(4), one_class(extended="example.com/gpu"), *queue_manifests("gpus", nominal=3))
    await stage.add(claiming("ext", templates=(), pods=3, limits={"example.com/gpu": 1}))
    await stage.until(lambda: stage.running("ext"))
    assert usage_of(stage, "ext") == {"gpus": "3"}


async def test_partitions_are_counted_by_what_they_take_of_a_counter(stage: Stage) -> None:
    parts = {f"part-{n}": {"counters": {"memory": "10Gi"}} for n in range(4)}
    slices = resource_slice("parts", driver=DRIVER, devices=parts, node="plain", pool=("parts", 1, 2))
    counters = resource_slice("counters", driver=DRIVER, devices={}, node="plain", pool=("parts", 1, 2))
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [{"name": "all", "counters": {"memory": {"value": "40Gi"}}}]
    queues = queue_manifests("memory", nominal="20Gi")
    await set_up(stage, node(), slices, counters, one_class("part"), one_template(of="part"), *queues, told=PARTITIONS)
    await stage.add(claiming("parts", pods=2))
    await stage.until(lambda: stage.running("parts"))
    assert usage_of(stage, "parts") == {"memory": "20Gi"}
    await stage.add(claiming("late"))
    await stage.until(lambda: "insufficient unused quota for memory" in told_of(stage, "late")[2])


async def test_shares_of_a_device_are_counted_by_their_capacity(stage: Stage) -> None:
    policy = {"default": "8Gi", "validRange": {"min": "4Gi", "step": "4Gi"}}
    shared = resource_slice(
        "shared",
        driver=DRIVER,
        devices={"big": {"capacity": {"memory": {"value": "40Gi", "requestPolicy": policy}}}},
        node="plain",
    )
    shared["spec"]["devices"][0]["allowMultipleAllocations"] = True
    some = one_template(of="share", capacity={"memory": "9Gi"})
    queues = queue_manifests("memory", nominal="30Gi")
    await set_up(stage, node(), shared, one_class("share"), some, *queues, told=SHARES)
    await stage.add(claiming("shares", pods=2))
    await stage.until(lambda: stage.get("jobs.batch", "default", "shares").get("status", {}).get("ready", 0) == 2)
    assert usage_of(stage, "shares") == {"memory": "24Gi"}


async def test_claims_borrow_and_are_preempted_like_any_other_quota(stage: Stage) -> None:
    await set_up(
        stage,
        node(),
        devices(4),
        one_class(),
        one_template("two", count=2),
        *queue_manifests("gpus", nominal=2, cohort="all"),
        *queue_manifests("gpus", nominal=2, name="owner", cohort="all", preemption={"reclaimWithinCohort": "Any"}),
    )
    await stage.add(claiming("borrower", templates=("two",), pods=2))
    await stage.until(lambda: stage.running("borrower"))
    assert usage_of(stage, "borrower") == {"gpus": "4"}
    await stage.add(claiming("owner", templates=("two",), queue="owner"))
    await stage.until(lambda: stage.running("owner"))
    await stage.until(lambda: told_of(stage, "borrower", "Preempted")[:2] == ("True", "InCohortReclamation"))


async def test_a_workload_of_its_own_is_counted_like_that_of_a_job(stage: Stage) -> None:
    await set_up(stage, node(), devices(4), one_class(), *queue_manifests("gpus", nominal=4))
    pods = claiming("x")["spec"]["template"]["spec"]
    pod_sets = [{"name": "main", "count": 2, "template": {"metadata": {}, "spec": pods}}]
    await stage.add(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "job-alone-x", "namespace": "default"},
            "spec": {"queueName": "claims", "podSets": pod_sets, "active": True},
        }
    )
    await stage.until(lambda: told_of(stage, "alone")[1] == "Misconfigured")
    await stage.add(one_template())
    await stage.until(lambda: usage_of(stage, "alone") == {"gpus": "2"})


@pytest.mark.parametrize(
    "claim", [{"resourceClaimTemplateName": "one"}, {"resourceClaimName": "mine"}], ids=["template", "name"]
)
async def test_with_the_gate_off_a_job_that_claims_devices_waits_and_says_so(stage: Stage, claim: JsonObject) -> None:
    stage.serve(settings=SettingsObserved(gates={"KueueDRAIntegration": False}))
    await stage.add(claiming_by(claim))
    await stage.until(
        lambda: bool(stage.of(WORKLOADS)) and told_of(stage, "claims") == ("False", "Misconfigured", REFUSED)
    )
    assert not stage.running("claims")


async def test_a_claim_by_name_is_refused_in_the_words_of_kueue(stage: Stage) -> None:
    stage.serve(settings=MAPPED)
    await stage.add(claiming_by({"resourceClaimName": "mine"}))
    words = "KueueDRAIntegration feature does not support use of resource claims"
    await stage.until(lambda: told_of(stage, "claims") == ("False", "Misconfigured", words))


async def test_with_both_gates_off_it_runs_with_its_claims_as_they_were(stage: Stage) -> None:
    gates = {"KueueDRAIntegration": False, "KueueDRARejectWorkloadsWhenDRADisabled": False}
    for one in (one_class(), one_template(), devices(1, on="n1")):
        await stage.add(one)
    stage.serve(settings=SettingsObserved(gates=gates))
    await stage.add(claiming_by({"resourceClaimTemplateName": "one"}))
    await stage.until(lambda: stage.running("claims"))
    found = stage.get("jobs.batch", "default", "claims")
    assert found["spec"]["template"]["spec"]["resourceClaims"] == [{"name": "gpu", "resourceClaimTemplateName": "one"}]
