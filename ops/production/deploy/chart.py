"""The chart for Helm and the plain manifests, both as texts of files, from the same builders."""

import json
import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from events.control import MOST_PARTITIONS
from events.json_object import JsonObject
from ops.files.yaml_text import yaml_text
from ops.production.crds.definitions import manifests as definitions
from ops.production.deploy.archiving import archivist
from ops.production.deploy.autoscaling import visibility_scaling, visibility_scaling_by_itself, webhook_scaling
from ops.production.deploy.chart_values import ChartValues, Chosen, Templated, template_text, value_at
from ops.production.deploy.deployments import (
    console,
    external_metrics,
    further_partitions,
    multikueue,
    services,
    verifier,
    visibility,
    webhook,
)
from ops.production.deploy.monitoring import pod_monitor, prometheus_rule, service_monitor
from ops.production.deploy.nats import STORE, chart_values, servers
from ops.production.deploy.network import policies
from ops.production.deploy.permissions import access
from ops.production.deploy.roles import roles
from ops.production.deploy.streams_job import streams_job
from ops.production.deploy.users import user_policy
from ops.production.log.sites import SiteRefused
from ops.production.webhook.configurations import configurations, conversion

NAMESPACE = "kuelog-system"
VERSION = version("kuelog")
NATS_CHART = {
    "name": "nats",
    "version": "1.x.x",
    "repository": "https://nats-io.github.io/k8s/helm/charts/",
    "condition": "nats.enabled",
}
HEAD = "# Made by `python -m ops.production.deploy`; change ops/production/deploy, not this file.\n"
CHOICES: JsonObject = {
    "image": {"repository": "kuelog", "tag": VERSION, "pullPolicy": "IfNotPresent"},
    "replicas": 2,
    "partitions": 1,
    "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}},
    "nodeSelector": {},
    "tolerations": [],
    "configuration": {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"},
    "bus": {
        "address": "kuelog-nats:4222",
        "scheme": "nats",
        "certificate": "kuelog-nats-tls",
        "replicas": "3",
        # Five streams, and three more while these are rolled, fit on a volume as large as is asked for.
        "maxBytes": "2147483648",
        "storage": STORE,
        "sites": [],
        "joinAs": "",
        "hubAuthority": False,
    },
    # A volume that says nothing of what it is, is an emptyDir. Helm merges what is chosen into what stands here: two kinds of volumes would be none.
    "witness": {"volume": {"name": "witness"}},
    "archivist": {
        "suspend": False,
        "schedule": "*/10 * * * *",
        "archive": "/var/lib/kuelog/archive",
        "maxBytes": "0",
        "days": "0",
        "hubCopies": False,
        "handOut": "",
        "timestamp": "",
        "egress": [],
        "volume": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "50Gi"}}},
    },
    "certManager": False,
    "visibility": True,
    "console": {
        "enabled": False,
        "access": "token",
        "audience": "",
        "userHeader": "X-Forwarded-User",
        "groupsHeader": "X-Forwarded-Groups",
        "userPrefix": "",
        "groupPrefix": "",
    },
    "multiKueue": {
        "enabled": False,
        "secrets": ["multikueue-workers"],
        "kubeconfigs": {"name": "kubeconfigs"},
        "plugins": {"name": "plugins"},
    },
    "autoscaling": {"enabled": False, "maxReplicas": 6, "cpu": "600m", "lagSeconds": "5", "externalMetrics": False},
    "networkPolicies": True,
    "verifier": False,
    "podMonitor": False,
    "serviceMonitor": False,
    "prometheusRule": False,
    "traces": {"endpoint": "", "ratio": "1.0", "egress": []},
    "roles": {"create": True, "prefix": "kuelog"},
    "userPolicy": False,
    "crds": {"install": True, "annotations": {"helm.sh/resource-policy": "keep"}},
}
"""What an installation may choose, besides the values of NATS's chart."""


SCHEMES = ("nats", "tls")
"""How the bus is reached: in plain text, or in TLS."""


class ChoiceRefused(ValueError):
    """Values that can't be installed so, and what to choose instead."""


_COUNTS = ("bus.replicas", "bus.maxBytes", "archivist.maxBytes", "archivist.days")
"""What becomes a text and is a whole number, with or without quotes."""
_ADDRESS = ".+:[0-9]{1,5}"
_SIZE = "[0-9]+[KMGT]i"
_NAMES = ("image.repository", "image.tag")
"""What YAML may take for a number: of a tag such as 0.10 or 20261201 it would make another one."""


def _switches(choices: JsonObject, path: str = "") -> list[str]:
    """The paths of what is either on or off."""
    found = [f"{path}{name}" for name, value in choices.items() if isinstance(value, bool)]
    for name, value in choices.items():
        if isinstance(value, dict):
            found += _switches(value, f"{path}{name}.")
    return found


_SWITCHES = _switches(CHOICES)


def check_choices(choices: Mapping[str, Any]) -> None:
    """Raise `ChoiceRefused` for what the schema of the chart refuses as well."""
    partitions = choices["partitions"]
    if isinstance(partitions, bool) or not isinstance(partitions, int) or not 1 <= partitions <= MOST_PARTITIONS:
        raise ChoiceRefused(
            f"partitions: {partitions}: a log has 1 to {MOST_PARTITIONS} partitions: write a number of these"
        )
    replicas = choices["replicas"]
    if isinstance(replicas, bool) or not isinstance(replicas, int) or replicas < 0:
        raise ChoiceRefused(f"replicas: {replicas}: write how many there are of each service, 0 for none yet")
    bus = choices["bus"]
    if bus["scheme"] not in SCHEMES:
        raise ChoiceRefused(f"bus.scheme: {bus['scheme']}: write one of {', '.join(SCHEMES)}")
    if not isinstance(bus["sites"], list):
        raise ChoiceRefused(f"bus.sites: {bus['sites']}: write a list of names, such as [east, west]")
    _check_kinds(choices)


def _check_kinds(choices: Mapping[str, Any]) -> None:
    address, storage = choices["bus"]["address"], choices["bus"]["storage"]
    if not re.fullmatch(_ADDRESS, str(address)):
        raise ChoiceRefused(f"bus.address: {address}: write HOST:PORT, such as {CHOICES['bus']['address']}")
    if not re.fullmatch(_SIZE, str(storage)):
        raise ChoiceRefused(f"bus.storage: {storage}: write how large a volume is, such as {STORE}")
    for path in _SWITCHES:
        if not isinstance(value_at(choices, path), bool):
            raise ChoiceRefused(f"{path}: {value_at(choices, path)}: write true or false")
    for path in _COUNTS:
        if not re.fullmatch("[0-9]+", str(value_at(choices, path))):
            raise ChoiceRefused(
                f"{path}: {value_at(choices, path)}: write a whole number, such as {value_at(CHOICES, path)}"
            )
    for path in _NAMES:
        if not isinstance(value_at(choices, path), str) or not value_at(choices, path):
            raise ChoiceRefused(
                f"{path}: {value_at(choices, path)}: write a text, in quotes if YAML takes it for a number"
            )


def _schema() -> JsonObject:
    """What Helm refuses before it renders anything."""
    bus: JsonObject = {
        "scheme": {"enum": list(SCHEMES)},
        "sites": {"type": "array", "items": {"type": "string"}},
        "address": {"type": "string", "pattern": f"^{_ADDRESS}$"},
        "storage": {"type": "string", "pattern": f"^{_SIZE}$"},
    }
    found: JsonObject = {
        "partitions": {"type": "integer", "minimum": 1, "maximum": MOST_PARTITIONS},
        "replicas": {"type": "integer", "minimum": 0},
        "bus": {"type": "object", "properties": bus},
    }
    for paths, wanted in (
        (_SWITCHES, {"type": "boolean"}),
        (_COUNTS, {"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+$"}),
        (_NAMES, {"type": "string", "minLength": 1}),
    ):
        for path in paths:
            room = found
            *rooms, last = path.split(".")
            for name in rooms:
                room = room.setdefault(name, {"type": "object", "properties": {}})["properties"]
            room[last] = wanted
    return {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": found}


SCHEMA = _schema()


class ChartPart(msgspec.Struct, frozen=True, kw_only=True):
    """Manifests that belong together, and the choices under which they are applied."""

    name: str
    build: Callable[[ChartValues], list[JsonObject]]
    when: tuple[str, ...] = ()
    unless: str = ""
    repeated: str = ""
    """The value below whose numbers, from 1, all of it is there once more each."""

    def chosen(self, slots: Chosen) -> bool:
        """Whether these values have the part installed."""
        if self.repeated and not slots.numbers(self.repeated):
            return False
        return all(slots.whole(one) for one in self.when) and not (self.unless and slots.whole(self.unless))

    @property
    def condition(self) -> str:
        """The condition in Helm's words; empty for a part that is always there."""
        if self.unless and not self.when:
            return f"not .Values.{self.unless}"
        switches = [f".Values.{one}" for one in self.when]
        switches += [f"(not .Values.{self.unless})"] if self.unless else []
        return " ".join(switches if len(switches) == 1 else ["and", *switches]) if switches else ""


def _crds(values: ChartValues) -> list[JsonObject]:
    found: list[JsonObject] = []
    for one in definitions():
        meta = {**one["metadata"], "annotations": values.whole("crds.annotations")}
        spec = {**one["spec"], "conversion": conversion("kuelog-webhook", values.namespace)}
        found.append({**one, "metadata": meta, "spec": spec})
    return found


def _webhook_with_own_certificate(values: ChartValues) -> list[JsonObject]:
    return [*webhook(values, cert_manager=False), *_asked(values, {})]


def _webhook_with_cert_manager(values: ChartValues) -> list[JsonObject]:
    from_ = {"cert-manager.io/inject-ca-from": f"{values.namespace}/kuelog-webhook"}
    return [*webhook(values, cert_manager=True), *_asked(values, from_)]


def _asked(values: ChartValues, annotations: dict[str, str]) -> list[JsonObject]:
    spared = ["kube-system", values.namespace]
    return configurations("kuelog-webhook", values.namespace, spared, annotations, values.settings)


def _streams(values: ChartValues) -> list[JsonObject]:
    return [*streams_job(values), *archivist(values)]


PARTS = (
    ChartPart(name="crds", build=_crds, when=("crds.install",)),
    ChartPart(name="access", build=access),
    ChartPart(name="services", build=services),
    ChartPart(name="partitions", build=further_partitions, repeated="partitions"),
    ChartPart(name="streams", build=_streams),
    ChartPart(name="webhook", build=_webhook_with_own_certificate, unless="certManager"),
    ChartPart(name="webhook-cert-manager", build=_webhook_with_cert_manager, when=("certManager",)),
    ChartPart(name="visibility", build=visibility, when=("visibility",)),
    ChartPart(name="console", build=console, when=("console.enabled",)),
    ChartPart(name="multikueue", build=multikueue, when=("multiKueue.enabled",)),
    ChartPart(name="verifier", build=verifier, when=("verifier",)),
    ChartPart(name="webhook-scaling", build=webhook_scaling, when=("autoscaling.enabled",)),
    ChartPart(
        name="visibility-scaling",
        build=visibility_scaling,
        when=("autoscaling.enabled", "visibility"),
        unless="autoscaling.externalMetrics",
    ),
    ChartPart(
        name="visibility-scaling-by-itself",
        build=visibility_scaling_by_itself,
        when=("autoscaling.enabled", "visibility", "autoscaling.externalMetrics"),
    ),
    ChartPart(name="external-metrics", build=external_metrics, when=("visibility", "autoscaling.externalMetrics")),
    ChartPart(name="network", build=policies, when=("networkPolicies",)),
    ChartPart(name="roles", build=roles, when=("roles.create",)),
    ChartPart(name="user-policy", build=user_policy, when=("userPolicy",)),
    ChartPart(name="pod-monitor", build=pod_monitor, when=("podMonitor",)),
    ChartPart(name="service-monitor", build=service_monitor, when=("serviceMonitor",)),
    ChartPart(name="prometheus-rule", build=prometheus_rule, when=("prometheusRule",)),
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
        "values.schema.json": json.dumps(SCHEMA, indent=2) + "\n",
    }
    for part in PARTS:
        found[f"templates/{part.name}.yaml"] = HEAD + template_text(part.build(slots), part.condition, part.repeated)
    return found


def manifests(
    choices: Mapping[str, Any] = CHOICES, namespace: str = NAMESPACE, *, bus: bool = True
) -> dict[str, list[JsonObject]]:
    """Plain manifests by the name of their file, in the order in which they are applied; `bus` with NATS in them.

    Raises `ChoiceRefused`.
    """
    check_choices(choices)
    slots = Chosen(choices, namespace)
    try:
        nats = {"nats": servers(slots)} if bus else {}
    except SiteRefused as problem:
        raise ChoiceRefused(f"bus: {problem}") from problem
    home = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    found = {"namespace": [home], **nats}
    return {**found, **{part.name: part.build(slots) for part in PARTS if part.chosen(slots)}}


def for_operator() -> list[JsonObject]:
    """What Prometheus's operator is given beside the plain manifests: where metrics are, and the alerts."""
    slots = Chosen(CHOICES, NAMESPACE)
    return [*service_monitor(slots), *prometheus_rule(slots)]


def manifest_files() -> dict[str, str]:
    """The plain manifests: each file's text by its name, numbered in their order."""
    return {
        f"{number}0-{name}.yaml": HEAD + yaml_text(values) for number, (name, values) in enumerate(manifests().items())
    }
