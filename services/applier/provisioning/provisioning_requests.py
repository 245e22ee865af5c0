"""The ProvisioningRequests to create and delete so that the cluster autoscaler is asked for what was ordered; pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from events.api.labels import DECISION, MANAGED, WORKLOAD
from events.job_kind import JobKind
from events.json_object import JsonObject, object_at, objects_at
from events.provisioning import MergePolicy, ProvisioningOrdered, ProvisioningRequestObserved
from events.workload import CheckState, Member
from projections.checks.provisioning import (
    CLASS_NAME,
    CONSUMES,
    asks_for_the_same,
    of_no_use,
    request_of,
    template_name,
)
from projections.checks.state import ProvisioningState
from projections.workloads.lifecycle import Workload
from services.applier.manifests import injections, originals
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.pod_sets.pod_set import Injection, Original
from services.provisioning_kinds import REQUESTS
from services.runtime.cluster_port import Resource


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One ProvisioningRequest that was ordered and is not in the cluster yet."""

    order: ProvisioningOrdered
    decision: str
    before: str = ""
    """The UID of a request of that name that was known when it was ordered, and is not the answer."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be created and deleted for one workload."""

    workload: str
    make: tuple[Request, ...] = ()
    take_away: tuple[ProvisioningRequestObserved, ...] = ()
    job: str = ""
    """The job behind it, whose pods are described in it; empty when there is none."""
    kind: JobKind | None = None
    api_version: str = ""
    members: tuple[Member, ...] = ()
    """Its pods, where no other object describes them."""
    injections: tuple[Injection, ...] = ()
    originals: tuple[Original, ...] = ()

    @property
    def described_by(self) -> str:
        """The name of the job that describes its pods."""
        return self.job

    @property
    def namespace(self) -> str:
        """Where the workload and its requests are."""
        return self.workload.partition("/")[0]

    @property
    def name(self) -> str:
        """The name of the Workload object, without its namespace."""
        return self.workload.partition("/")[2]


def ask(world: ProvisioningState, workload: Workload) -> Ask | None:
    """The requests that the cluster lacks, and those that it no longer needs; None when it is as it should be."""
    make = tuple(
        Request(order=asked.order, decision=asked.decision, before=asked.before)
        for check, asked in sorted(workload.provisioning.items())
        if check in workload.checks
        # What was provisioned once and is gone has served: pods run on it.
        and workload.checks[check].state is CheckState.PENDING
        and request_of(world.provisioning_requests, world.provisioning_of, workload, check) is None
    )
    take_away = tuple(of_no_use(world, workload))
    if not make and not take_away:
        return None
    owner = workload.owner
    return Ask(
        workload=workload.key,
        make=make,
        take_away=take_away,
        job=owner.name if owner is not None else "",
        kind=None if owner is None else kinds_of(world.settings).of(owner.api_version, owner.kind),
        api_version=owner.api_version if owner is not None else "",
        members=workload.spec.members,
        injections=injections(world, workload) if make else (),
        originals=originals(workload),
    )


def owned_by(resource: Resource, value: JsonObject) -> list[JsonObject]:
    """The owner reference to an object: what is made for it is garbage-collected with it."""
    meta = value["metadata"]
    api = {"apiVersion": f"{resource.group}/{resource.version}", "kind": resource.kind}
    return [{**api, "name": meta["name"], "uid": meta["uid"], "controller": True, "blockOwnerDeletion": True}]


def is_asked_already(request: Request, found: JsonObject, workload: str) -> bool:
    """Whether another manager has asked for the same on behalf of a workload with this UID: that is told, and answers the check.

    Rule: docs/rules/adoption.md#requests
    """
    meta, spec = found["metadata"], object_at(found, "spec")
    if object_at(meta, "annotations").get(DECISION) or meta["uid"] == request.before or meta.get("deletionTimestamp"):
        return False
    if object_at(meta, "labels").get(MANAGED) != "true":
        return False
    same = asks_for_the_same(request.order, spec.get("provisioningClassName", ""), object_at(spec, "parameters"))
    return same and any(one["uid"] == workload for one in objects_at(meta, "ownerReferences"))


def templates_of(request: JsonObject) -> list[str]:
    """The PodTemplates that a ProvisioningRequest names."""
    pod_sets = objects_at(request, "spec", "podSets")
    return [name for one in pod_sets if (name := object_at(one, "podTemplateRef").get("name"))]


class ProvisionedPodSet(msgspec.Struct, frozen=True):
    """Pods that an autoscaler is asked to make room for."""

    name: str
    template: JsonObject
    count: int


class ProvisioningObjects(msgspec.Struct, frozen=True):
    """The ProvisioningRequest to write, and the PodTemplates to write before it."""

    request: JsonObject
    templates: list[JsonObject]
    """The PodTemplates that it names."""


def pod_sets_of(request: Request, templates: Mapping[str, JsonObject]) -> list[ProvisionedPodSet]:
    """The pod sets that are asked for; those that the policy takes for the same are one."""
    found: list[ProvisionedPodSet] = []
    for one in request.order.pod_sets:
        template = templates[one.name]
        for index, known in enumerate(found):
            if _same(known.template, template, request.order.merge):
                found[index] = msgspec.structs.replace(known, count=known.count + one.count)
                break
        else:
            found.append(ProvisionedPodSet(one.name, template, one.count))
    return found


def request_objects(
    request: Request, pod_sets: Sequence[ProvisionedPodSet], owners: list[JsonObject]
) -> ProvisioningObjects:
    """The ProvisioningRequest and its PodTemplates."""
    order = request.order
    head: JsonObject = {
        "namespace": order.workload.partition("/")[0],
        "labels": {MANAGED: "true"},
        "annotations": {DECISION: request.decision},
        "ownerReferences": owners,
    }
    templates: list[JsonObject] = [
        {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {**head, "name": template_name(order.request, one.name)},
            "template": one.template,
        }
        for one in pod_sets
    ]
    parameters = {**order.parameters, **order.own_parameters}
    spec: JsonObject = {
        "provisioningClassName": order.class_name,
        "podSets": [
            {"podTemplateRef": {"name": template_name(order.request, one.name)}, "count": one.count} for one in pod_sets
        ],
        **({"parameters": parameters} if parameters else {}),
    }
    api = f"{REQUESTS.group}/{REQUESTS.version}"
    meta = {**head, "name": order.request}
    return ProvisioningObjects({"apiVersion": api, "kind": REQUESTS.kind, "metadata": meta, "spec": spec}, templates)


def template_of(template: JsonObject, injection: Injection | None) -> JsonObject:
    """A pod template as the autoscaler has to see it: with its flavors, without gates and what is left of earlier starts."""
    old = object_at(template, "metadata")
    annotations = {name: value for name, value in object_at(old, "annotations").items() if name not in _STALE}
    meta = {"labels": object_at(old, "labels"), "annotations": annotations}
    spec = {name: value for name, value in object_at(template, "spec").items() if name not in _NOT_ASKED}
    if injection is not None:
        spec["nodeSelector"] = {**object_at(spec, "nodeSelector"), **injection.node_selector}
        own = objects_at(spec, "tolerations")
        spec["tolerations"] = [*own, *(one for one in injection.tolerations if one not in own)]
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_complete(one, index) for index, one in enumerate(spec[field])]
    kept = {name: value for name, value in spec.items() if value not in (None, {}, [])}
    return {"metadata": {name: value for name, value in meta.items() if value}, "spec": kept}


def _complete(container: JsonObject, index: int) -> JsonObject:
    """A container as the API server takes it; what is limited is asked for, where nothing else is, as it has it for pods.

    A kind that describes its pods otherwise may say no image where the template has it; the autoscaler looks at none.
    """
    named = {**container, "name": container.get("name") or f"c{index}", "image": container.get("image") or _NO_IMAGE}
    resources = object_at(container, "resources")
    requests = {**object_at(resources, "limits"), **object_at(resources, "requests")}
    return {**named, "resources": {**resources, "requests": requests}} if requests else named


def _same(one: JsonObject, other: JsonObject, policy: MergePolicy | None) -> bool:
    match policy:
        case None:
            return False
        case MergePolicy.IDENTICAL_TEMPLATES:
            return one == other
        case MergePolicy.IDENTICAL_REQUIREMENTS:
            return _requirements(one) == _requirements(other)


def _requirements(template: JsonObject) -> list[Any]:
    spec = object_at(template, "spec")
    asked = [
        [object_at(one, "resources", "requests") for one in objects_at(spec, field)]
        for field in ("containers", "initContainers")
    ]
    return [*asked, *(spec.get(field) for field in _REQUIREMENTS)]


_REQUIREMENTS = ("resources", "nodeSelector", "tolerations", "affinity", "resourceClaims")
_NO_IMAGE = "unspecified"
_STALE = frozenset({CONSUMES, CLASS_NAME, WORKLOAD})
_NOT_ASKED = frozenset({"schedulingGates", "nodeName"})
