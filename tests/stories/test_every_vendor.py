"""Cards of each vendor: from what a node tells, through quota and reservation, to the pins, and back from what HAMi writes."""

import json
from typing import Any

import pytest

from events.card import Card
from events.catalogue import AnyEvent
from events.device import DevicesRegistered, NodeObserved, PodObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.workload import Owner, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from projections.devices.annotations.allocated_cards import by_vendor
from projections.devices.annotations.index_annotations import PinContext
from projections.devices.annotations.pod_annotations import card_annotations
from projections.devices.holdings.drift import all_findings
from projections.devices.registration.register_annotation import encode_json, encode_legacy
from projections.devices.vendors.table import VENDORS
from projections.devices.vendors.vendor import Encoding, Vendor
from services.applier.manifests import card_pins
from services.watcher.view import View
from tests.stories.small_world import Story

MEMORY = 98304
SLICES = [
    {"uuid": f"card-{i}", "totalDevCount": 4, "totalCompute": 100, "totalVRam": MEMORY, "healthy": True} for i in (0, 1)
]
CUT = {
    "devices": [{"index": str(i), "minor": str(i), "capacity": 6} for i in (0, 1)],
    "profiles": {"1g.6gb": "0", "3g.20gb": "1", "6g.40gb": "2"},
}


def node(vendor: Vendor) -> dict[str, Any]:
    """A node with two cards, as the vendor's plugin tells them."""
    names, cores = vendor.resources, vendor.registered_cores or 100
    cards = [
        Card(uuid=f"card-{i}", index=i, slots=4, memory=MEMORY, cores=cores, model=vendor.word, mode="")
        for i in range(2)
    ]
    status: dict[str, Any] = {"allocatable": {names.count: "8"}, "capacity": {}}
    annotations = {}
    match vendor.encoding:
        case Encoding.CAPACITY:
            assert vendor.unit is not None
            status = {"allocatable": {names.count: "2"}, "capacity": {names.count: "2"}}
            if names.cores:
                status["capacity"][names.cores] = str(2 * (2 if vendor.rules.core_bits else vendor.unit.cores))
            if names.memory:
                status["capacity"][names.memory] = str(2 * MEMORY // names.factor)
        case Encoding.SLICES:
            annotations[vendor.register] = json.dumps(SLICES)
        case Encoding.PROFILES:
            annotations[vendor.register] = json.dumps(CUT)
        case Encoding.LEGACY:
            annotations[vendor.register] = encode_legacy(cards)
        case Encoding.JSON:
            annotations[vendor.register] = encode_json(cards)
    status["conditions"] = [{"type": "Ready", "status": "True"}]
    return {"metadata": {"name": "n1", "labels": {"card": "x"}, "annotations": annotations}, "status": status}


def job(vendor: Vendor) -> WorkloadSubmitted:
    limits = {vendor.resources.count: 2 if vendor.super_pod else 1}
    shape = PodShape(containers=(ContainerShape(name="side"), ContainerShape(name="main", limits=limits)))
    return WorkloadSubmitted(
        workload="team/job",
        uid="u",
        owner=Owner(kind="Job", name="job", uid="u"),
        created_at=0,
        spec=WorkloadSpec(queue="lq", pod_sets=(PodSet(name="main", count=1, shape=shape),)),
    )


def queue(vendor: Vendor) -> list[AnyEvent]:
    resource = vendor.resources.count
    quotas = FlavorQuotas(flavor="f", quotas=(Quota(resource=resource, nominal=8),))
    return [
        NamespaceObserved(name="team"),
        FlavorObserved(name="f", node_labels={"card": "x"}),
        ClusterQueueObserved(
            name="cq", namespaces=LabelSelector(), groups=(ResourceGroup(resources=(resource,), flavors=(quotas,)),)
        ),
        LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
    ]


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.word)
def test_a_job_gets_its_cards_and_what_hami_writes_is_what_the_log_has_reserved(vendor: Vendor) -> None:
    view = View()
    seen = view.see("Node", node(vendor))
    assert [type(fact) for fact in seen] == [NodeObserved, DevicesRegistered]
    told = Story().told(*queue(vendor), *seen, job(vendor))
    told.decided()
    workload = told.world.workloads["team/job"]
    assert workload.admitted, workload.attempt
    assert workload.devices is not None
    (placement,) = workload.devices.placements
    given = sorted(share.uuid for shares in placement.containers for share in shares)
    assert len(given) == (2 if vendor.super_pod else 1)
    assert card_pins(workload, "main") == {vendor.use_uuid: ",".join(given)}
    (word,) = by_vendor(placement.containers)
    assert word == vendor.word
    pod = {
        "metadata": {
            "namespace": "team",
            "name": "job-0",
            "uid": "p",
            "annotations": {
                **card_annotations(vendor, placement.containers, {}, PinContext(at="1", node="n1")),
                "kueue.x-k8s.io/workload": "job",
            },
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "side"}, {"name": "main"}]},
        "status": {"phase": "Running"},
    }
    (fact,) = view.see("Pod", pod)
    assert isinstance(fact, PodObserved)
    before = dict(told.world.cards.used)
    assert told.told(fact).decided() == []
    assert told.world.cards.used == before
    assert all_findings(told.world.cards, told.world.nodes, told.world.pods) == []
    pod["status"] = {"phase": "Succeeded"}
    told.told(*view.see("Pod", pod), WorkloadFinished(workload="team/job", reason="Succeeded")).decided()
    assert not any(told.world.cards.stakes.values())


def named(vendor: Vendor, annotations: dict[str, str]) -> dict[str, Any]:
    """A job of one pod with one card, and annotations on its pod."""
    container = {"name": "main", "resources": {"limits": {vendor.resources.count: "1"}}}
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container], "restartPolicy": "Never"}}
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": "team", "name": "job", "uid": "u", "labels": labels},
        "spec": {"suspend": True, "parallelism": 1, "completions": 1, "template": template},
    }


@pytest.mark.parametrize("avoids", [False, True])
@pytest.mark.parametrize("vendor", [one for one in VENDORS if not one.super_pod], ids=lambda vendor: vendor.word)
def test_a_job_gets_the_card_that_its_annotations_leave_it(vendor: Vendor, *, avoids: bool) -> None:
    view = View()
    seen = view.see("Node", node(vendor))
    (cards,) = [[card.uuid for card in fact.cards] for fact in seen if isinstance(fact, DevicesRegistered)]
    for wanted, other in (cards, reversed(cards)):
        annotations = {vendor.avoid_uuid: other} if avoids else {vendor.use_uuid: wanted}
        told = Story().told(*queue(vendor), *seen, *View().see("Job", named(vendor, annotations)))
        told.decided()
        (workload,) = told.world.workloads.values()
        assert card_pins(workload, "main") == {vendor.use_uuid: wanted}
