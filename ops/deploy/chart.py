"""The chart for Helm and the plain manifests, both as texts of files, from the same builders."""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from ops.crds.definitions import manifests as definitions
from ops.deploy.archiving import archivist
from ops.deploy.chart_values import Chosen, Slots, Templated, template_text
from ops.deploy.deployments import services, streams_job, visibility, webhook
from ops.deploy.nats import chart_values, servers
from ops.deploy.network import policies
from ops.deploy.permissions import access
from ops.deploy.roles import roles
from ops.webhook.configurations import configurations, conversion
from ops.yaml_text import yaml_text

Plain = dict[str, Any]
NAMESPACE = "kuelog-system"
VERSION = version("kuelog")
NATS_CHART = {
    "name": "nats",
    "version": "1.x.x",
    "repository": "https://nats-io.github.io/k8s/helm/charts/",
    "condition": "nats.enabled",
}
HEAD = "# Made by `python -m ops.deploy`; change ops/deploy, not this file.\n"
CHOICES: Plain = {
    "image": {"repository": "kuelog", "tag": VERSION, "pullPolicy": "IfNotPresent"},
    "replicas": 2,
    "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}},
    "nodeSelector": {},
    "tolerations": [],
    "configuration": {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"},
    "bus": {"address": "kuelog-nats:4222", "replicas": "3", "maxBytes": "4294967296"},
    "witness": {"volume": {"name": "witness", "emptyDir": {}}},
    "archivist": {
        "suspend": False,
        "schedule": "*/10 * * * *",
        "archive": "/var/lib/kuelog/archive",
        "maxBytes": "0",
        "days": "0",
        "volume": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "50Gi"}}},
    },
    "certManager": False,
    "visibility": True,
    "networkPolicies": True,
    "roles": {"create": True, "prefix": "kuelog"},
    "crds": {"install": True, "annotations": {"helm.sh/resource-policy": "keep"}},
}
"""What an installation may choose, besides the values of NATS's chart."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Manifests that belong together, and the choice under which they are applied."""

    name: str
    build: Callable[[Slots], list[Plain]]
    when: str = ""
    unless: bool = False

    def chosen(self, slots: Chosen) -> bool:
        """Whether these values want it."""
        return not self.when or bool(slots.whole(self.when)) is not self.unless

    @property
    def condition(self) -> str:
        """The condition as Helm has it."""
        return f"{'not ' if self.unless else ''}.Values.{self.when}" if self.when else ""


def _crds(slots: Slots) -> list[Plain]:
    found: list[Plain] = []
    for one in definitions():
        meta = {**one["metadata"], "annotations": slots.whole("crds.annotations")}
        spec = {**one["spec"], "conversion": conversion("kuelog-webhook", slots.namespace)}
        found.append({**one, "metadata": meta, "spec": spec})
    return found


def _webhook_with_own_certificate(slots: Slots) -> list[Plain]:
    return [*webhook(slots, cert_manager=False), *_asked(slots, {})]


def _webhook_with_cert_manager(slots: Slots) -> list[Plain]:
    from_ = {"cert-manager.io/inject-ca-from": f"{slots.namespace}/kuelog-webhook"}
    return [*webhook(slots, cert_manager=True), *_asked(slots, from_)]


def _asked(slots: Slots, annotations: dict[str, str]) -> list[Plain]:
    spared = ["kube-system", slots.namespace]
    return configurations("kuelog-webhook", slots.namespace, spared, annotations, slots.settings)


def _streams(slots: Slots) -> list[Plain]:
    return [*streams_job(slots), *archivist(slots)]


PARTS = (
    Part(name="crds", build=_crds, when="crds.install"),
    Part(name="access", build=access),
    Part(name="services", build=services),
    Part(name="streams", build=_streams),
    Part(name="webhook", build=_webhook_with_own_certificate, when="certManager", unless=True),
    Part(name="webhook-cert-manager", build=_webhook_with_cert_manager, when="certManager"),
    Part(name="visibility", build=visibility, when="visibility"),
    Part(name="network", build=policies, when="networkPolicies"),
    Part(name="roles", build=roles, when="roles.create"),
)


def chart_files() -> dict[str, str]:
    """The chart: each file's text by its path."""
    slots = Templated()
    found = {
        "Chart.yaml": HEAD
        + yaml_text(
            [
                {
                    "apiVersion": "v2",
                    "name": "kuelog",
                    "description": "Job admission for Kubernetes whose only truth is an append-only log",
                    "type": "application",
                    "version": VERSION,
                    "appVersion": VERSION,
                    "dependencies": [NATS_CHART],
                }
            ]
        ),
        "values.yaml": HEAD + yaml_text([{**CHOICES, "nats": chart_values()}]),
    }
    for part in PARTS:
        found[f"templates/{part.name}.yaml"] = HEAD + template_text(part.build(slots), part.condition)
    return found


def manifests(
    choices: Mapping[str, Any] = CHOICES, namespace: str = NAMESPACE, *, bus: bool = True
) -> dict[str, list[Plain]]:
    """Plain manifests by the name of their file, in the order in which they are applied; `bus` with NATS in them."""
    slots = Chosen(choices, namespace)
    home = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    found = {"namespace": [home], **({"nats": servers(slots)} if bus else {})}
    return {**found, **{part.name: part.build(slots) for part in PARTS if part.chosen(slots)}}


def manifest_files() -> dict[str, str]:
    """The plain manifests: each file's text by its name, numbered in their order."""
    return {
        f"{number}0-{name}.yaml": HEAD + yaml_text(values) for number, (name, values) in enumerate(manifests().items())
    }
