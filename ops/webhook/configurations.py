"""The webhook configurations: which objects the API server asks us about, and where."""

from typing import Any

import msgspec

from ops.crds.definitions import DEFINITIONS, GROUP
from services.jobs.serving import RESOURCES
from services.jobs.table import KINDS

Plain = dict[str, Any]
MUTATING, VALIDATING = "kuelog-mutating-webhook-configuration", "kuelog-validating-webhook-configuration"
MUTATE, VALIDATE, CONVERT = "/mutate", "/validate", "/convert"
QUEUE = "kueue.x-k8s.io/queue-name"
_SPACE = "kubernetes.io/metadata.name"
_TIMEOUT_S = 10
_PODS = "pods"


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """Kinds that are asked about together."""

    name: str
    kinds: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    """Group, versions and resources."""
    labelled: bool = False
    """Only objects that name a queue: nothing else of this kind waits for us."""


KUEUES = Watched(
    name="kueue",
    kinds=(
        (
            GROUP,
            ("v1beta1", "v1beta2"),
            tuple(one.plural for one in DEFINITIONS if one.kind not in ("Topology", "WorkloadPriorityClass")),
        ),
    ),
)


def _jobs(*, pods: bool) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    found: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for kind in KINDS:
        if (kind.plural == _PODS) is pods:
            found.setdefault((kind.group, kind.versions), {})[kind.plural] = None
    return tuple((group, versions, tuple(found[group, versions])) for group, versions in sorted(found))


JOBS = Watched(name="job", kinds=_jobs(pods=False))
"""Every job: one that names no queue may be meant for the default one of its namespace."""
PODS = Watched(name="pod", kinds=_jobs(pods=True), labelled=True)
"""No pod waits for us that names no queue: a cluster must be able to start what brings us back."""


SERVING = Watched(name="serving", kinds=RESOURCES, labelled=True)
"""What hands its queue to the pods that it makes."""


def where(service: str, namespace: str, path: str, authorities: str = "") -> Plain:
    """How the API server reaches us; `authorities` is base64."""
    found: Plain = {"service": {"name": service, "namespace": namespace, "path": path, "port": 443}}
    return {**found, "caBundle": authorities} if authorities else found


def configurations(
    service: str, namespace: str, spared: list[str], annotations: dict[str, str] | None = None
) -> list[Plain]:
    """Both configurations. The `spared` namespaces never wait for us: what brings us back runs in them."""
    jobs = [one for one in (JOBS, PODS) if one.kinds]
    mutating = [_webhook("m", one, service, namespace, spared, MUTATE, ("CREATE",)) for one in jobs]
    mutating.append(_webhook("m", SERVING, service, namespace, spared, MUTATE, ("CREATE", "UPDATE")))
    validating = [
        _webhook("v", KUEUES, service, namespace, [], VALIDATE, ("CREATE", "UPDATE")),
        _webhook("v", JOBS, service, namespace, spared, VALIDATE, ("CREATE", "UPDATE")),
        _webhook("v", SERVING, service, namespace, spared, VALIDATE, ("UPDATE",)),
    ]
    return [
        _configuration("Mutating", MUTATING, mutating, annotations),
        _configuration("Validating", VALIDATING, validating, annotations),
    ]


def conversion(service: str, namespace: str, authorities: str = "") -> Plain:
    """The part of a definition that says who converts between its versions."""
    return {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": where(service, namespace, CONVERT, authorities),
        },
    }


def _configuration(kind: str, name: str, webhooks: list[Plain], annotations: dict[str, str] | None) -> Plain:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
        "webhooks": webhooks,
    }


def _webhook(
    letter: str,
    watched: Watched,
    service: str,
    namespace: str,
    spared: list[str],
    path: str,
    operations: tuple[str, ...],
) -> Plain:
    found: Plain = {
        "name": f"{letter}{watched.name}.kuelog.io",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "Never",
        "timeoutSeconds": _TIMEOUT_S,
        "clientConfig": where(service, namespace, path),
        "rules": [
            {
                "apiGroups": [group],
                "apiVersions": list(versions),
                "resources": list(resources),
                "operations": list(operations),
                "scope": "*",
            }
            for group, versions, resources in watched.kinds
        ],
    }
    if letter == "v":
        del found["reinvocationPolicy"]
    if spared:
        found["namespaceSelector"] = {"matchExpressions": [{"key": _SPACE, "operator": "NotIn", "values": spared}]}
    if watched.labelled:
        found["objectSelector"] = {"matchExpressions": [{"key": QUEUE, "operator": "Exists"}]}
    return found
