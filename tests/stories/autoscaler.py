"""A cluster autoscaler as a test plays it: its definition, and what it says of the requests that it finds."""

from events.json_object import JsonObject
from services.applier.writing import WORKLOADS
from services.provisioning_kinds import REQUESTS
from tests.stage.stage import CLUSTER_QUEUES, Stage

OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
NAMES: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}
CLASS = "check-capacity.autoscaling.x-k8s.io"
REQUESTS_KEY, TEMPLATES_KEY = "provisioningrequests.autoscaling.x-k8s.io", "podtemplates"
DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": REQUESTS_KEY},
    "spec": {
        "group": REQUESTS.group,
        "names": {"kind": "ProvisioningRequest", "plural": "provisioningrequests", "shortNames": ["provreq"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["podSets", "provisioningClassName"],
                                "properties": {
                                    "provisioningClassName": {"type": "string", "maxLength": 253},
                                    "parameters": NAMES,
                                    "podSets": {"type": "array", "minItems": 1, "maxItems": 32, "items": OPEN},
                                },
                            },
                            "status": OPEN,
                        },
                    }
                },
            }
        ],
    },
}
CHECK: JsonObject = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "AdmissionCheck",
    "metadata": {"name": "nodes"},
    "spec": {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "config"},
    },
}


def config(**spec: object) -> JsonObject:
    """How it is to be asked."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ProvisioningRequestConfig",
        "metadata": {"name": "config"},
        "spec": {"provisioningClassName": CLASS, "parameters": {"Zone": "a"}, **spec},
    }


async def require_nodes(stage: Stage) -> None:
    """The stage's queue asks for nodes."""
    await stage.add(CHECK)
    strategy = {"admissionChecks": [{"name": "nodes"}]}
    await stage.client.merge(CLUSTER_QUEUES, "", "team", {"spec": {"admissionChecksStrategy": strategy}})


def requests(stage: Stage) -> dict[str, JsonObject]:
    """The requests in the cluster, by name."""
    return {one["metadata"]["name"]: one for one in stage.of(REQUESTS_KEY)}


def templates(stage: Stage) -> dict[str, JsonObject]:
    """The pod templates in the cluster, by name."""
    return {one["metadata"]["name"]: one for one in stage.of(TEMPLATES_KEY)}


async def asked(stage: Stage, number: int) -> JsonObject:
    """The request of that attempt, as soon as it is there."""
    await stage.until(lambda: _attempt(stage, number) is not None)
    found = _attempt(stage, number)
    assert found is not None
    return found


async def answer(
    stage: Stage, request: JsonObject, *, details: dict[str, str] | None = None, **conditions: str
) -> None:
    """What the autoscaler says; a message that begins with `not:` belongs to a condition that is False."""
    told = [
        {
            "type": kind,
            "status": "False" if text.startswith("not:") else "True",
            "reason": "Told",
            "message": text.removeprefix("not:"),
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for kind, text in conditions.items()
    ]
    status = {"status": {"conditions": told, "provisioningClassDetails": details or {}}}
    meta = request["metadata"]
    await stage.client.merge(REQUESTS, meta["namespace"], meta["name"], status, subresource="status")


def check_of(stage: Stage, job: str) -> JsonObject:
    """How the check of a job's workload stands."""
    for one in stage.of("workloads.kueue.x-k8s.io"):
        if one["metadata"]["name"].startswith(f"job-{job}-"):
            return next(iter(one.get("status", {}).get("admissionChecks") or ()), {})
    return {}


async def set_active(stage: Stage, workload: str) -> None:
    """Somebody wants it to be tried again."""
    await stage.client.merge(WORKLOADS, "default", workload, {"spec": {"active": True}})


def _attempt(stage: Stage, number: int) -> JsonObject | None:
    return next((one for name, one in sorted(requests(stage).items()) if name.endswith(f"-nodes-{number}")), None)
