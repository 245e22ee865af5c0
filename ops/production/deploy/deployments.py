"""Each service as a Deployment of its own, with probes, a disruption budget and no more rights than it needs."""

from events.json_object import JsonObject
from ops.production.deploy.bus import user_in
from ops.production.deploy.chart_values import ChartValues
from ops.production.deploy.on_bus import AUTHORITY_MOUNT, bus_authority, put_on_bus
from ops.production.deploy.permissions import (
    CONSOLE,
    ON_CLUSTER,
    VISIBILITY,
    applier_access,
    console_access,
    multikueue_access,
    service_account,
    visibility_access,
)
from ops.production.deploy.spreading import WHEREVER, spread
from ops.production.served import MULTIKUEUE, SERVICES, VERIFIER
from ops.production.visibility.api import GROUP, VERSIONS
from ops.production.visibility.lag_metrics import GROUP as LAG_GROUP
from ops.production.visibility.lag_metrics import VERSION as LAG_VERSION
from services.multikueue.kubeconfig import PATHS_BELOW

METRICS, HEALTH, HTTPS = 8080, 8081, 9443
CONFIGURATION = "/etc/kuelog/controller_manager_config.yaml"
CERTIFICATE = "kuelog-webhook-certificate"
TOKEN_SECRET = "kuelog-metrics-token"
SITES_SECRET = "kuelog-sites"
"""The Secret of a hub that says, under `addresses`, as whom and where the copies of its sites are read."""
TOKEN = "/etc/kuelog-token/token"
_PROXY = "/etc/kuelog-proxy"
_PLUGINS = "/etc/multikueue/plugins"
"""Where programs lie that give access to worker clusters."""
EVERYWHERE = "0.0.0.0"
"""The kubelet and Prometheus come from other machines."""
_USER_ID = 65532
NAME_LABEL = "app.kubernetes.io/name"
PART_LABEL = "app.kubernetes.io/component"
_TOKEN_VOLUME: JsonObject = {"name": "token", "secret": {"secretName": TOKEN_SECRET, "optional": True}}
"""Without it metrics are served only to callers within the pod, such as `kubectl port-forward`."""
_TOKEN_MOUNT: JsonObject = {"name": "token", "mountPath": "/etc/kuelog-token", "readOnly": True}
_METRICS = ("--metrics", str(METRICS), "--metrics-address", EVERYWHERE, "--metrics-token", TOKEN)
ON_BUS, ON_API = "kuelog.io/bus", "kuelog.io/api"
"""Labels of pods that may speak with the bus, and with the API server."""
WEBHOOK = "webhook"
AUTOSCALED = (WEBHOOK, VISIBILITY)
"""The services that may be scaled by what they have to do (ops/production/deploy/autoscaling.py)."""
IN_PARTITIONS = ("queue-manager", "admitter", "preemptor", "applier")
"""The services that are there once for each partition of trees; all others serve the whole log."""


def labels(service: str) -> dict[str, str]:
    """By which the pods of a service are found."""
    return {NAME_LABEL: "kuelog", PART_LABEL: service}


def services(values: ChartValues) -> list[JsonObject]:
    """The services on the bus: account, Deployment and budget of each; those of trees in the first partition."""
    here = (one for one in SERVICES if one != MULTIKUEUE)
    return [_configuration(values), *(one for service in here for one in _service_on_bus(values, service))]


def further_partitions(values: ChartValues) -> list[JsonObject]:
    """The services of trees in every partition but the first, each with an account and a user of the bus of its own."""
    found: list[JsonObject] = []
    for number in values.numbers("partitions"):
        for service in IN_PARTITIONS:
            found += _service_on_bus(values, service, number)
        found.append(applier_access(values, user_in("applier", number)))
    return found


def multikueue(values: ChartValues) -> list[JsonObject]:
    """Who dispatches to other clusters, with its rights, the kubeconfigs that are files and the programs that give access."""
    found = _service_on_bus(values, MULTIKUEUE)
    for one in found:
        if one["kind"] == "Deployment":
            pod = one["spec"]["template"]["spec"]
            key = {"name": SITES_SECRET, "key": "addresses", "optional": True}
            pod["containers"][0]["env"].append({"name": "KUELOG_SITE", "valueFrom": {"secretKeyRef": key}})
            for name, path in (("kubeconfigs", PATHS_BELOW), ("plugins", _PLUGINS)):
                pod["volumes"].append(values.whole(f"multiKueue.{name}"))
                mount = {"name": name, "mountPath": path, "readOnly": True}
                pod["containers"][0]["volumeMounts"].append(mount)
    return [*multikueue_access(values), *found]


def verifier(values: ChartValues) -> list[JsonObject]:
    """Who decides again what the services decide: one is enough, for it says nothing that anybody waits for."""
    found = _service_on_bus(values, VERIFIER)
    for one in found:
        if one["kind"] == "Deployment":
            one["spec"]["replicas"] = 1
    return found


def _service_on_bus(values: ChartValues, service: str, number: str = "0") -> list[JsonObject]:
    more = ["--config", CONFIGURATION] if service == "watcher" else []
    if service in IN_PARTITIONS:
        more += ["--partition", f"LOG_{number}"]
    health = ["--health", str(HEALTH), "--health-address", EVERYWHERE, "--health-token", TOKEN]
    args = ["run", service, *health, *_METRICS, "--witness", "/var/lib/kuelog", *more]
    container = container_of(values, service, args)
    name = user_in(service, number)
    put_on_bus(values, container, name)
    container["env"] += _collector(values)
    container["ports"] = [
        {"name": "health", "containerPort": HEALTH},
        {"name": "metrics", "containerPort": METRICS},
    ]
    container.update(_probes("health", "HTTP"))
    container["volumeMounts"].append({"name": "witness", "mountPath": "/var/lib/kuelog"})
    container["volumeMounts"].append(_TOKEN_MOUNT)
    volumes = [values.whole("witness.volume"), _TOKEN_VOLUME]
    return _deployed(values, service, container, volumes, on_bus=True, name=name)


def webhook(values: ChartValues, *, cert_manager: bool) -> list[JsonObject]:
    """The webhook: no bus, a Service that the API server calls, and the Secret that its certificate is in."""
    service = f"{values.namespace}/kuelog-webhook"
    given = ["--cert-dir", "/etc/certificate"] if cert_manager else []
    args = ["run", "webhook", "--port", str(HTTPS), "--service", service, "--config", CONFIGURATION, *given, *_METRICS]
    container = container_of(values, "webhook", args)
    container["ports"] = [
        {"name": "https", "containerPort": HTTPS},
        {"name": "metrics", "containerPort": METRICS},
    ]
    container.update(_probes("https", "HTTPS"), lifecycle=_leaving())
    container["volumeMounts"].append(_TOKEN_MOUNT)
    volumes = [_TOKEN_VOLUME]
    if cert_manager:
        container["volumeMounts"].append({"name": "certificate", "mountPath": "/etc/certificate", "readOnly": True})
        volumes.append({"name": "certificate", "secret": {"secretName": CERTIFICATE}})
    return [
        *_deployed(values, WEBHOOK, container, volumes, on_bus=False),
        _service(values, WEBHOOK),
        *(_issued(values) if cert_manager else [_empty_secret(values, WEBHOOK)]),
    ]


def visibility(values: ChartValues) -> list[JsonObject]:
    """The visibility API: on the bus, reached by the API server, which hands on what people ask it."""
    name = f"kuelog-{VISIBILITY}"
    reached = ["--host", EVERYWHERE, "--port", str(HTTPS), "--service", f"{values.namespace}/{name}"]
    args = [VISIBILITY, *reached, *_METRICS]
    container = container_of(values, VISIBILITY, args)
    served = {"name": "KUELOG_EXTERNAL_METRICS", "value": values.quoted_json("autoscaling.externalMetrics")}
    put_on_bus(values, container, VISIBILITY)
    container["env"].append(served)
    container["ports"] = [
        {"name": "https", "containerPort": HTTPS},
        {"name": "metrics", "containerPort": METRICS},
    ]
    container.update(_probes("https", "HTTPS"), lifecycle=_leaving())
    container["volumeMounts"].append(_TOKEN_MOUNT)
    return [
        *visibility_access(values),
        *_deployed(values, VISIBILITY, container, [_TOKEN_VOLUME], on_bus=True),
        _service(values, VISIBILITY),
        _empty_secret(values, VISIBILITY),
        *(_api_service(values, GROUP, version, 100 - place) for place, version in enumerate(VERSIONS)),
    ]


def external_metrics(values: ChartValues) -> list[JsonObject]:
    """Where HorizontalPodAutoscalers ask for metrics from outside: a cluster has one such API, so it is taken only where it was chosen."""
    return [_api_service(values, LAG_GROUP, LAG_VERSION, 100)]


def _api_service(values: ChartValues, group: str, version: str, priority: int) -> JsonObject:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}"},
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": priority,
            "service": {"namespace": values.namespace, "name": f"kuelog-{VISIBILITY}"},
        },
    }


def console(values: ChartValues) -> list[JsonObject]:
    """The console: on the bus, reached by people or by the proxy that signs them in; it asks the API server what each may read."""
    reached = ["--host", EVERYWHERE, "--port", str(HTTPS), "--service", f"{values.namespace}/kuelog-{CONSOLE}"]
    let_in = ["--access", values.text("console.access"), "--audience", values.text("console.audience")]
    proxy = ["--proxy-secret", f"{_PROXY}/secret"]
    for header in ("user", "groups"):
        proxy += [f"--{header}-header", values.text(f"console.{header}Header")]
    for prefix in ("user", "group"):
        proxy += [f"--{prefix}-prefix", values.text(f"console.{prefix}Prefix")]
    container = container_of(values, CONSOLE, [CONSOLE, *reached, *let_in, *proxy])
    put_on_bus(values, container, CONSOLE)
    container["ports"] = [{"name": "https", "containerPort": HTTPS}]
    container.update(_probes("https", "HTTPS"))
    container["volumeMounts"].append({"name": "proxy", "mountPath": _PROXY, "readOnly": True})
    # Without it a proxy is not believed, whatever it says.
    secret: JsonObject = {"name": "proxy", "secret": {"secretName": f"kuelog-{CONSOLE}-proxy", "optional": True}}
    deployed = _deployed(values, CONSOLE, container, [secret], on_bus=True)
    for one in deployed:
        if one["kind"] == "Deployment":
            # The sessions of browsers live in the process.
            one["spec"]["replicas"] = 1
    return [*console_access(values), *deployed, _service(values, CONSOLE), _empty_secret(values, CONSOLE)]


def _service(values: ChartValues, service: str) -> JsonObject:
    """What the API server calls, or people do."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"kuelog-{service}", "namespace": values.namespace},
        "spec": {
            "selector": labels(service),
            "ports": [{"name": "https", "port": 443, "targetPort": "https"}],
        },
    }


def _empty_secret(values: ChartValues, service: str) -> JsonObject:
    """Filled by the service itself; it is there from the start, so that nobody needs the right to create Secrets."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"kuelog-{service}-certificate", "namespace": values.namespace},
        "type": "Opaque",
    }


def _issued(values: ChartValues) -> list[JsonObject]:
    """The certificate as cert-manager issues it."""
    host = f"kuelog-webhook.{values.namespace}.svc"
    issuer = {"name": "kuelog-webhook", "namespace": values.namespace}
    return [
        {"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": issuer, "spec": {"selfSigned": {}}},
        {
            "apiVersion": "cert-manager.io/v1",
            "kind": "Certificate",
            "metadata": {"name": "kuelog-webhook", "namespace": values.namespace},
            "spec": {
                "secretName": CERTIFICATE,
                "dnsNames": [host, f"{host}.cluster.local"],
                "issuerRef": {"kind": "Issuer", "name": "kuelog-webhook"},
            },
        },
    ]


def _configuration(values: ChartValues) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kuelog-configuration", "namespace": values.namespace},
        "data": {"controller_manager_config.yaml": values.configuration_file()},
    }


def _deployed(
    values: ChartValues, service: str, container: JsonObject, volumes: list[JsonObject], *, on_bus: bool, name: str = ""
) -> list[JsonObject]:
    name = name or service
    marks = {**({ON_BUS: "true"} if on_bus else {}), **({ON_API: "true"} if service in ON_CLUSTER else {})}
    reads = "--config" in container["args"]
    mounted = [{"name": "configuration", "configMap": {"name": "kuelog-configuration"}}] if reads else []
    if reads:
        container["volumeMounts"].append({"name": "configuration", "mountPath": "/etc/kuelog", "readOnly": True})
    # A service reads its configuration when it starts: with another one it starts anew.
    marked = {"annotations": {"checksum/configuration": values.configuration_sum()}} if reads else {}
    meta = {"name": f"kuelog-{name}", "namespace": values.namespace, "labels": labels(name)}
    scaled = service in AUTOSCALED
    replicas = (
        values.unless("autoscaling.enabled", "replicas", "replicas")
        if scaled
        else {"replicas": values.whole("replicas")}
    )
    return [
        service_account(values, service, name),
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {
                **replicas,
                "selector": {"matchLabels": labels(name)},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
                "template": {
                    "metadata": {"labels": {**labels(name), **marks}, **marked},
                    "spec": pod_of(values, name, container, [*volumes, *mounted]),
                },
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": meta,
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels(name)}},
        },
    ]


def runs_as(user: int) -> JsonObject:
    """The security context of a pod that runs as nobody but this user."""
    return {
        "runAsNonRoot": True,
        "runAsUser": user,
        "runAsGroup": user,
        "fsGroup": user,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def pod_of(values: ChartValues, name: str, container: JsonObject, volumes: list[JsonObject]) -> JsonObject:
    """A pod that may do as little as a pod can."""
    believes = [bus_authority(values)] if AUTHORITY_MOUNT in container["volumeMounts"] else []
    return {
        "serviceAccountName": f"kuelog-{name}",
        "securityContext": runs_as(_USER_ID),
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 15,
        "nodeSelector": values.whole("nodeSelector"),
        "tolerations": values.whole("tolerations"),
        "topologySpreadConstraints": spread(labels(name), WHEREVER),
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}, *believes, *volumes],
    }


def container_of(values: ChartValues, name: str, args: list[str]) -> JsonObject:
    """What runs in it: one command of kuelog."""
    return {
        "name": name,
        "image": f"{values.text('image.repository')}:{values.text('image.tag')}",
        "imagePullPolicy": values.text("image.pullPolicy"),
        "args": args,
        "resources": values.whole("resources"),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }


def _probes(port: str, scheme: str) -> JsonObject:
    def probe(path: str, **more: int) -> JsonObject:
        return {"httpGet": {"path": path, "port": port, "scheme": scheme}, "timeoutSeconds": 5, **more}

    return {
        # Folding a long log takes its time, and the loop may be busy with it: only a loop that stands still is dead.
        "livenessProbe": probe("/livez", initialDelaySeconds=20, periodSeconds=10, failureThreshold=6),
        "readinessProbe": probe("/readyz", periodSeconds=5, failureThreshold=2),
    }


def _leaving() -> JsonObject:
    """What the API server calls goes on for a while when its pod is told to end: until nobody is sent to it any more.

    Without that each upgrade and each drained node would refuse some jobs.
    """
    return {"preStop": {"exec": {"command": ["sleep", "5"]}}}


def _collector(values: ChartValues) -> list[JsonObject]:
    """Where traces go and how many jobs of all are traced (docs/traces.md); nowhere while the endpoint is empty."""
    return [
        {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": values.text("traces.endpoint")},
        {"name": "OTEL_TRACES_SAMPLER", "value": "parentbased_traceidratio"},
        {"name": "OTEL_TRACES_SAMPLER_ARG", "value": values.text("traces.ratio")},
    ]
