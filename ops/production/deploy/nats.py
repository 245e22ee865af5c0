"""Three servers of NATS with JetStream, for those who apply plain manifests; the chart takes NATS's own chart instead."""

import hashlib

from events.json_object import JsonObject
from events.quantity import parse_quantity
from ops.production.deploy.bus import (
    ALONE,
    CERTIFICATES,
    HUB_AUTHORITY,
    HUB_VARIABLE,
    BusLinks,
    joined_configuration,
    peers_prove_themselves,
    server_configuration,
    server_file,
    users_of,
)
from ops.production.deploy.chart_values import Chosen
from ops.production.deploy.deployments import runs_as
from ops.production.deploy.on_bus import USERS_SECRET
from ops.production.deploy.spreading import ONE_A_HOST, spread
from ops.production.log.sites import LEAF_PORT, users_of_site
from ops.production.log.streams import SOLE, LogStreams, streams_of

IMAGE = "nats:2.12-alpine"
STORE = "20Gi"
_GIB = 1 << 30
_OF_OLD = 4 * _GIB
"""How large each stream was made by older manifests; it stays so."""
HUB_SECRET = "kuelog-hub"  # noqa: S105 - the name of a Secret
"""The Secret of a site that says, under `address`, where the hub takes its leaf connections."""
_LABELS = {"app.kubernetes.io/name": "nats", "app.kubernetes.io/instance": "kuelog"}
_USER_ID = 1000


def variables(streams: LogStreams, links: BusLinks = ALONE) -> list[JsonObject]:
    """The environment of a server: a password for every user, from the common Secret, and where the hub of a site is."""
    named = [*users_of(streams), *(one for site in links.sites for one in users_of_site(site))]
    found = [_from_secret(one.variable, USERS_SECRET, one.name) for one in named]
    return [*found, _from_secret(HUB_VARIABLE, HUB_SECRET, "address")] if links.join_as else found


def _from_secret(variable: str, secret: str, key: str) -> JsonObject:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def set_aside(streams: LogStreams, max_bytes: int, volume: str = STORE) -> str:
    """What a server sets aside for all streams, each with all that it may hold, and for those that go on in a fresh one while the old one is archived.

    Said outright: a server that is told nothing takes three quarters of what is free on its disk at each start, and has no room for streams
    that are empty as yet. Files grow by what is in them, so a volume may be smaller; when it is full that is said.
    """
    shelf = 1
    count = len(streams.witnessed) + shelf + len(streams.rolled)
    # A hub holds copies of other logs besides: what it has beyond its own streams is theirs.
    bytes_held = max(count * max(max_bytes, _OF_OLD), int(parse_quantity(volume)))
    return f"{-(-bytes_held // _GIB)}Gi"


def links_of(chosen: Chosen) -> BusLinks:
    """With whom the bus is linked, by the values."""
    return BusLinks(
        sites=tuple(chosen.whole("bus.sites")),
        join_as=chosen.text("bus.joinAs"),
        certificate=chosen.text("bus.certificate") if chosen.text("bus.scheme") == "tls" else "",
        hub_authority=chosen.whole("bus.hubAuthority"),
    )


def chart_values(streams: LogStreams = SOLE, links: BusLinks = ALONE, max_bytes: int = 0) -> JsonObject:
    """The values for NATS's own chart, as a dependency; as a hub of sites, or as the bus of a site. Raises `SiteRefused`."""
    joined = joined_configuration(links)
    merged = server_configuration(streams)
    merged["accounts"].update(joined.get("accounts", {}))
    store: JsonObject = {"enabled": True, "pvc": {"enabled": True, "size": STORE}}
    if not links.sites:
        # The volume of a hub is as large as its sites want: as much as it holds is told then.
        store["maxSize"] = set_aside(streams, max_bytes)
    config: JsonObject = {
        "cluster": {"enabled": True, "replicas": 3},
        "jetstream": {"enabled": True, "fileStore": store},
        "merge": merged,
    }
    spread_out: JsonObject = {
        "topologySpreadConstraints": {
            key: {"maxSkew": 1, "whenUnsatisfiable": otherwise} for key, otherwise in ONE_A_HOST.items()
        }
    }
    container: JsonObject = {
        "env": {one["name"]: {"valueFrom": one["valueFrom"]} for one in variables(streams, links)},
    }
    if joined:
        config["jetstream"]["merge"] = joined["jetstream"]
        more = {name: value for name, value in joined["leafnodes"].items() if name != "port"}
        config["leafnodes"] = {"enabled": True, "port": LEAF_PORT, "merge": more}
    if links.join_as:
        config["cluster"]["merge"] = {"name": links.cluster}
    if links.certificate:
        shown = {"enabled": True, "secretName": links.certificate}
        config["nats"] = {"tls": shown}
        config["cluster"]["tls"] = {**shown, "merge": peers_prove_themselves()}
        if links.sites:
            config["leafnodes"]["tls"] = shown
    if links.hub_authority:
        volume, mount = _hub_authority()
        container["patch"] = [{"op": "add", "path": "/volumeMounts/-", "value": mount}]
        spread_out["patch"] = [{"op": "add", "path": "/spec/volumes/-", "value": volume}]
    return {
        "enabled": True,
        "config": config,
        "container": container,
        "podTemplate": spread_out,
        "natsBox": {"enabled": False},
    }


def _hub_authority() -> tuple[JsonObject, JsonObject]:
    """The volume with the authority of the hub, and where it lies: without the password beside it."""
    items = [{"key": "ca.crt", "path": "ca.crt"}]
    return (
        {"name": "hub", "secret": {"secretName": HUB_SECRET, "items": items}},
        {"name": "hub", "mountPath": HUB_AUTHORITY, "readOnly": True},
    )


def servers(chosen: Chosen) -> list[JsonObject]:
    """Configuration, services, the three servers and their disruption budget. Raises `SiteRefused`."""
    meta: JsonObject = {"namespace": chosen.namespace, "labels": _LABELS}
    streams, links = streams_of(chosen.whole("partitions")), links_of(chosen)
    room = set_aside(streams, int(chosen.count("bus.maxBytes")), chosen.text("bus.storage"))
    configuration = server_file(chosen.namespace, streams, links, room)
    # A server reads its configuration when it starts: with another one they start anew, one after the other.
    marked = {"checksum/configuration": hashlib.sha256(configuration.encode()).hexdigest()}
    reached = [("nats", 4222), *([("leafnodes", LEAF_PORT)] if links.sites else [])]
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kuelog-nats", **meta},
            "data": {"nats.conf": configuration},
        },
        _service("kuelog-nats", meta, reached),
        _service("kuelog-nats-headless", meta, [*reached, ("cluster", 6222), ("monitor", 8222)], headless=True),
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
                "template": {
                    "metadata": {"labels": _LABELS, "annotations": marked},
                    "spec": _pod(streams, links, [*reached, ("cluster", 6222), ("monitor", 8222)]),
                },
                "volumeClaimTemplates": [
                    {
                        "metadata": {"name": "data"},
                        "spec": {
                            "accessModes": ["ReadWriteOnce"],
                            "resources": {"requests": {"storage": chosen.text("bus.storage")}},
                        },
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


def _pod(streams: LogStreams, links: BusLinks, ports: list[tuple[str, int]]) -> JsonObject:
    volumes: list[JsonObject] = [{"name": "configuration", "configMap": {"name": "kuelog-nats"}}]
    mounts: list[JsonObject] = [
        {"name": "configuration", "mountPath": "/etc/nats", "readOnly": True},
        {"name": "data", "mountPath": "/data"},
    ]
    if links.certificate:
        volumes.append({"name": "certificate", "secret": {"secretName": links.certificate}})
        kinds = ["nats", "cluster", *(["leafnodes"] if links.sites else [])]
        mounts += [{"name": "certificate", "mountPath": f"{CERTIFICATES}/{one}", "readOnly": True} for one in kinds]
    if links.hub_authority:
        volume, mount = _hub_authority()
        volumes.append(volume)
        mounts.append(mount)

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
                    *variables(streams, links),
                ],
                "ports": [{"name": name, "containerPort": number} for name, number in ports],
                "livenessProbe": probe("/healthz?js-enabled-only=true", initialDelaySeconds=10, periodSeconds=30),
                "readinessProbe": probe("/healthz?js-server-only=true", periodSeconds=10),
                "startupProbe": probe("/healthz", periodSeconds=10, failureThreshold=90),
                "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": mounts,
            }
        ],
        "volumes": volumes,
    }
