"""Three servers of NATS with JetStream, for those who apply plain manifests; the chart takes NATS's own chart instead."""

import hashlib
from collections.abc import Sequence

from events.json_object import JsonObject
from ops.production.deploy.bus import (
    HUB_VARIABLE,
    joined_configuration,
    server_configuration,
    server_file,
    users_of,
)
from ops.production.deploy.chart_values import Chosen
from ops.production.deploy.deployments import USERS_SECRET, runs_as
from ops.production.deploy.spreading import ONE_A_HOST, spread
from ops.production.log.sites import LEAF_PORT, users_of_site
from ops.production.log.streams import SOLE, LogStreams, streams_of

IMAGE = "nats:2.12-alpine"
STORE = "20Gi"
HUB_SECRET = "kuelog-hub"  # noqa: S105 - the name of a Secret
"""The Secret of a site that says, under `address`, where the hub takes its leaf connections."""
_LABELS = {"app.kubernetes.io/name": "nats", "app.kubernetes.io/instance": "kuelog"}
_USER_ID = 1000


def passwords(streams: LogStreams) -> list[JsonObject]:
    """The environment of a server: a password for every user, from the common Secret."""
    return [_from_secret(one.variable, USERS_SECRET, one.name) for one in users_of(streams)]


def _from_secret(variable: str, secret: str, key: str) -> JsonObject:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def chart_values(streams: LogStreams = SOLE, sites: Sequence[str] = (), join_as: str = "") -> JsonObject:
    """The values for NATS's own chart, as a dependency; as a hub of sites, or as the bus of a site. Raises `SiteRefused`."""
    joined = joined_configuration(sites, join_as)
    merged = server_configuration(streams)
    merged["accounts"].update(joined.get("accounts", {}))
    config: JsonObject = {
        "cluster": {"enabled": True, "replicas": 3},
        "jetstream": {"enabled": True, "fileStore": {"enabled": True, "pvc": {"enabled": True, "size": STORE}}},
        "merge": merged,
    }
    variables = passwords(streams)
    if joined:
        config["jetstream"]["merge"] = joined["jetstream"]
        more = {name: value for name, value in joined["leafnodes"].items() if name != "port"}
        config["leafnodes"] = {"enabled": True, "port": LEAF_PORT, "merge": more}
        variables += [
            _from_secret(one.variable, USERS_SECRET, one.name) for site in sites for one in users_of_site(site)
        ]
        variables += [_from_secret(HUB_VARIABLE, HUB_SECRET, "address")] if join_as else []
    return {
        "enabled": True,
        "config": config,
        "container": {
            "env": {one["name"]: {"valueFrom": one["valueFrom"]} for one in variables},
        },
        "podTemplate": {
            "topologySpreadConstraints": {
                key: {"maxSkew": 1, "whenUnsatisfiable": otherwise} for key, otherwise in ONE_A_HOST.items()
            }
        },
        "natsBox": {"enabled": False},
    }


def servers(chosen: Chosen) -> list[JsonObject]:
    """Configuration, services, the three servers and their disruption budget."""
    meta: JsonObject = {"namespace": chosen.namespace, "labels": _LABELS}
    streams = streams_of(chosen.whole("partitions"))
    configuration = server_file(chosen.namespace, streams)
    # A server reads its configuration when it starts: with another one they start anew, one after the other.
    marked = {"checksum/configuration": hashlib.sha256(configuration.encode()).hexdigest()}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kuelog-nats", **meta},
            "data": {"nats.conf": configuration},
        },
        _service("kuelog-nats", meta, [("nats", 4222)]),
        _service("kuelog-nats-headless", meta, [("nats", 4222), ("cluster", 6222), ("monitor", 8222)], headless=True),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "kuelog-nats", **meta},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": _LABELS}},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "kuelog-nats", **meta},
            "spec": {
                "replicas": 3,
                "serviceName": "kuelog-nats-headless",
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": _LABELS},
                "template": {"metadata": {"labels": _LABELS, "annotations": marked}, "spec": _pod(streams)},
                "volumeClaimTemplates": [
                    {
                        "metadata": {"name": "data"},
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": STORE}}},
                    }
                ],
            },
        },
    ]


def _service(name: str, meta: JsonObject, ports: list[tuple[str, int]], *, headless: bool = False) -> JsonObject:
    spec: JsonObject = {
        "selector": _LABELS,
        "ports": [{"name": port, "port": number, "targetPort": number} for port, number in ports],
    }
    if headless:
        # The servers find each other before any of them is ready.
        spec.update({"clusterIP": "None", "publishNotReadyAddresses": True})
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, **meta}, "spec": spec}


def _pod(streams: LogStreams) -> JsonObject:
    def probe(path: str, **more: int) -> JsonObject:
        return {"httpGet": {"path": path, "port": 8222}, "timeoutSeconds": 5, **more}

    return {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 60,
        "securityContext": runs_as(_USER_ID),
        "topologySpreadConstraints": spread(_LABELS, ONE_A_HOST),
        "containers": [
            {
                "name": "nats",
                "image": IMAGE,
                "args": ["--config", "/etc/nats/nats.conf"],
                "env": [
                    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    *passwords(streams),
                ],
                "ports": [
                    {"name": "nats", "containerPort": 4222},
                    {"name": "cluster", "containerPort": 6222},
                    {"name": "monitor", "containerPort": 8222},
                ],
                "livenessProbe": probe("/healthz?js-enabled-only=true", initialDelaySeconds=10, periodSeconds=30),
                "readinessProbe": probe("/healthz?js-server-only=true", periodSeconds=10),
                "startupProbe": probe("/healthz", periodSeconds=10, failureThreshold=90),
                "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [
                    {"name": "configuration", "mountPath": "/etc/nats", "readOnly": True},
                    {"name": "data", "mountPath": "/data"},
                ],
            }
        ],
        "volumes": [{"name": "configuration", "configMap": {"name": "kuelog-nats"}}],
    }
