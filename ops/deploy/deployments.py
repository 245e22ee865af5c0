"""Each service as a Deployment of its own, with probes, a disruption budget and no more rights than it needs."""

from typing import Any

from ops.deploy.bus import USERS
from ops.deploy.chart_values import Slots
from ops.deploy.permissions import ON_CLUSTER, VISIBILITY, service_account, visibility_access
from ops.visibility.api import GROUP, VERSIONS
from ops.wiring import SERVICES

Plain = dict[str, Any]
METRICS, HEALTH, HTTPS = 8080, 8081, 9443
CONFIGURATION = "/etc/kuelog/controller_manager_config.yaml"
CERTIFICATE = "kuelog-webhook-certificate"
USERS_SECRET = "kuelog-nats-users"
TOKEN_SECRET = "kuelog-metrics-token"
TOKEN = "/etc/kuelog-token/token"
EVERYWHERE = "0.0.0.0"
"""The kubelet and Prometheus come from other machines."""
_USER_ID = 65532
_LABEL = "app.kubernetes.io/name"
_PART = "app.kubernetes.io/component"
_TOKEN_VOLUME: Plain = {"name": "token", "secret": {"secretName": TOKEN_SECRET, "optional": True}}
"""Without it metrics are only told within the pod, as to `kubectl port-forward`."""
_TOKEN_MOUNT: Plain = {"name": "token", "mountPath": "/etc/kuelog-token", "readOnly": True}
ON_BUS, ON_API = "kuelog.io/bus", "kuelog.io/api"
"""Labels of pods that may speak with the bus, and with the API server."""


def labels(service: str) -> dict[str, str]:
    """By which the pods of a service are found."""
    return {_LABEL: "kuelog", _PART: service}


def services(slots: Slots) -> list[Plain]:
    """The services on the bus: account, Deployment and budget of each."""
    found: list[Plain] = [_configuration(slots)]
    for service in SERVICES:
        watches = ["--config", CONFIGURATION] if service == "watcher" else []
        metrics = ["--metrics", str(METRICS), "--metrics-address", EVERYWHERE, "--metrics-token", TOKEN]
        health = ["--health", str(HEALTH), "--health-address", EVERYWHERE, "--health-token", TOKEN]
        args = ["run", service, *health, *metrics, "--witness", "/var/lib/kuelog", *watches]
        container = container_of(slots, service, args)
        container["env"] = bus_address(slots, service)
        container["ports"] = [
            {"name": "health", "containerPort": HEALTH},
            {"name": "metrics", "containerPort": METRICS},
        ]
        container.update(_probes("health", "HTTP"))
        container["volumeMounts"].append({"name": "witness", "mountPath": "/var/lib/kuelog"})
        container["volumeMounts"].append(_TOKEN_MOUNT)
        found.extend(_deployed(slots, service, container, [slots.whole("witness.volume"), _TOKEN_VOLUME], on_bus=True))
    return found


def webhook(slots: Slots, *, cert_manager: bool) -> list[Plain]:
    """The webhook: no bus, a Service that the API server calls, and the Secret that its certificate is in."""
    service = f"{slots.namespace}/kuelog-webhook"
    given = ["--cert-dir", "/etc/certificate"] if cert_manager else []
    args = ["run", "webhook", "--port", str(HTTPS), "--service", service, "--config", CONFIGURATION, *given]
    container = container_of(slots, "webhook", args)
    container["ports"] = [{"name": "https", "containerPort": HTTPS}]
    container.update(_probes("https", "HTTPS"))
    volumes: list[Plain] = []
    if cert_manager:
        container["volumeMounts"].append({"name": "certificate", "mountPath": "/etc/certificate", "readOnly": True})
        volumes.append({"name": "certificate", "secret": {"secretName": CERTIFICATE}})
    return [
        *_deployed(slots, "webhook", container, volumes, on_bus=False),
        _service(slots, "webhook"),
        *(_issued(slots) if cert_manager else [_empty_secret(slots, "webhook")]),
    ]


def visibility(slots: Slots) -> list[Plain]:
    """The visibility API: on the bus, reached by the API server, which hands on what people ask it."""
    name = f"kuelog-{VISIBILITY}"
    args = [VISIBILITY, "--host", EVERYWHERE, "--port", str(HTTPS), "--service", f"{slots.namespace}/{name}"]
    container = container_of(slots, VISIBILITY, args)
    container["env"] = bus_address(slots, VISIBILITY)
    container["ports"] = [{"name": "https", "containerPort": HTTPS}]
    container.update(_probes("https", "HTTPS"))
    service = {"namespace": slots.namespace, "name": name}
    return [
        *visibility_access(slots),
        *_deployed(slots, VISIBILITY, container, [], on_bus=True),
        _service(slots, VISIBILITY),
        _empty_secret(slots, VISIBILITY),
        *(
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"{version}.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "version": version,
                    "groupPriorityMinimum": 100,
                    "versionPriority": 100 - place,
                    "service": service,
                },
            }
            for place, version in enumerate(VERSIONS)
        ),
    ]


def _service(slots: Slots, service: str) -> Plain:
    """What the API server calls."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"kuelog-{service}", "namespace": slots.namespace},
        "spec": {
            "selector": labels(service),
            "ports": [{"name": "https", "port": 443, "targetPort": "https"}],
        },
    }


def _empty_secret(slots: Slots, service: str) -> Plain:
    """Filled by the service itself; it is there from the start, so that nobody needs the right to create Secrets."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"kuelog-{service}-certificate", "namespace": slots.namespace},
        "type": "Opaque",
    }


def _issued(slots: Slots) -> list[Plain]:
    """The certificate as cert-manager issues it."""
    host = f"kuelog-webhook.{slots.namespace}.svc"
    issuer = {"name": "kuelog-webhook", "namespace": slots.namespace}
    return [
        {"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": issuer, "spec": {"selfSigned": {}}},
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": {"name": "kuelog-webhook", "namespace": slots.namespace},
            "spec": {
                "secretName": CERTIFICATE,
                "dnsNames": [host, f"{host}.cluster.local"],
                "issuerRef": {"kind": "Issuer", "name": "kuelog-webhook"},
            },
        },
    ]


def streams_job(slots: Slots) -> list[Plain]:
    """A Job that creates the streams, three times each: the only one whose user may."""
    args = ["deploy", "streams", "--replicas", slots.text("bus.replicas"), "--max-bytes", slots.text("bus.maxBytes")]
    container = container_of(slots, "streams", args)
    container["env"] = bus_address(slots, "streams")
    account = service_account(slots, "streams")
    hooks = {
        "helm.sh/hook": "post-install,post-upgrade",
        "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
    }
    return [
        account,
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "kuelog-streams", "namespace": slots.namespace, "annotations": hooks},
            "spec": {
                "backoffLimit": 20,
                "ttlSecondsAfterFinished": 600,
                "template": {
                    "metadata": {"labels": {**labels("streams"), ON_BUS: "true"}},
                    "spec": {**pod_of(slots, "streams", container, []), "restartPolicy": "OnFailure"},
                },
            },
        },
    ]


def _configuration(slots: Slots) -> Plain:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kuelog-configuration", "namespace": slots.namespace},
        "data": {"controller_manager_config.yaml": slots.quoted_json("configuration")},
    }


def _deployed(slots: Slots, service: str, container: Plain, volumes: list[Plain], *, on_bus: bool) -> list[Plain]:
    marks = {**({ON_BUS: "true"} if on_bus else {}), **({ON_API: "true"} if service in ON_CLUSTER else {})}
    reads = "--config" in container["args"]
    mounted = [{"name": "configuration", "configMap": {"name": "kuelog-configuration"}}] if reads else []
    if reads:
        container["volumeMounts"].append({"name": "configuration", "mountPath": "/etc/kuelog", "readOnly": True})
    meta = {"name": f"kuelog-{service}", "namespace": slots.namespace, "labels": labels(service)}
    return [
        service_account(slots, service),
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {
                "replicas": slots.whole("replicas"),
                "selector": {"matchLabels": labels(service)},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
                "template": {
                    "metadata": {"labels": {**labels(service), **marks}},
                    "spec": pod_of(slots, service, container, [*volumes, *mounted]),
                },
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": meta,
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels(service)}},
        },
    ]


def pod_of(slots: Slots, service: str, container: Plain, volumes: list[Plain]) -> Plain:
    """A pod that may do as little as a pod can."""
    return {
        "serviceAccountName": f"kuelog-{service}",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER_ID,
            "runAsGroup": _USER_ID,
            "fsGroup": _USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 15,
        "nodeSelector": slots.whole("nodeSelector"),
        "tolerations": slots.whole("tolerations"),
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": labels(service)},
            }
        ],
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}, *volumes],
    }


def container_of(slots: Slots, name: str, args: list[str]) -> Plain:
    """What runs in it: one command of kuelog."""
    return {
        "name": name,
        "image": f"{slots.text('image.repository')}:{slots.text('image.tag')}",
        "imagePullPolicy": slots.text("image.pullPolicy"),
        "args": args,
        "resources": slots.whole("resources"),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }


def _probes(port: str, scheme: str) -> Plain:
    def probe(path: str, **more: int) -> Plain:
        return {"httpGet": {"path": path, "port": port, "scheme": scheme}, "timeoutSeconds": 5, **more}

    return {
        # Folding a long log takes its time, and the loop may be busy with it: only a loop that stands still is dead.
        "livenessProbe": probe("/livez", initialDelaySeconds=20, periodSeconds=10, failureThreshold=6),
        "readinessProbe": probe("/readyz", periodSeconds=5, failureThreshold=2),
    }


def bus_address(slots: Slots, service: str) -> list[Plain]:
    """The bus with the user of a service, as KUELOG_NATS."""
    assert service in {one.name for one in USERS}, f"{service} is no user of the bus"
    return [
        {"name": "KUELOG_PASSWORD", "valueFrom": {"secretKeyRef": {"name": USERS_SECRET, "key": service}}},
        {"name": "KUELOG_NATS", "value": f"nats://{service}:$(KUELOG_PASSWORD)@{slots.text('bus.address')}"},
    ]
