"""Who may speak with whom: services with the bus and, where one is chosen, a collector of traces, five with the API server."""

from events.json_object import JsonObject
from ops.production.deploy.archiving import ARCHIVIST
from ops.production.deploy.chart_values import ChartValues
from ops.production.deploy.deployments import HEALTH, HTTPS, METRICS, ON_API, ON_BUS, labels
from ops.production.log.sites import LEAF_PORT

CLIENTS, ROUTES, MONITORING = 4222, 6222, 8222
_KUELOG = {"matchLabels": {"app.kubernetes.io/name": "kuelog"}}
_BUS = {"matchLabels": {"app.kubernetes.io/name": "nats"}}
_NAMES = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]


def policies(values: ChartValues) -> list[JsonObject]:
    """Policies for every pod of ours and of the bus."""
    return [
        _policy(
            values,
            "kuelog",
            _KUELOG,
            ingress=[{"ports": _ports(HEALTH, METRICS)}],
            egress=[{"ports": _NAMES}],
        ),
        _policy(
            values,
            "kuelog-to-bus",
            {"matchLabels": {ON_BUS: "true"}},
            # A bus elsewhere has no pods here: its port is what can be said of it, and it may be another one than that of ours.
            egress=[{"ports": [{"protocol": "TCP", "port": values.port("bus.address")}]}],
        ),
        # Policies add up: without rules of its own this one allows nothing.
        _policy(values, "kuelog-to-collector", {"matchLabels": {ON_BUS: "true"}}, egress=values.whole("traces.egress")),
        # Where it archives, hands checkpoints out and has them stamped, if that is not on its own volume.
        _policy(
            values,
            "kuelog-archivist",
            {"matchLabels": labels(ARCHIVIST)},
            egress=values.whole("archivist.egress"),
        ),
        _policy(values, "kuelog-to-api", {"matchLabels": {ON_API: "true"}}, egress=[{"ports": _ports(443, 6443)}]),
        *(
            _policy(
                values,
                f"kuelog-{service}",
                {"matchLabels": labels(service)},
                # The API server is no pod: it comes from an address that only the cluster's owner knows, and so do people.
                ingress=[{"ports": _ports(HTTPS)}],
            )
            for service in ("webhook", "visibility", "console")
        ),
        _policy(
            values,
            "kuelog-bus",
            _BUS,
            ingress=[
                {"from": [{"podSelector": {"matchLabels": {ON_BUS: "true"}}}], "ports": _ports(CLIENTS)},
                {"from": [{"podSelector": _BUS}], "ports": _ports(CLIENTS, ROUTES, MONITORING)},
                # Sites come from other clusters; nobody listens there but a hub.
                {"ports": _ports(LEAF_PORT)},
            ],
            egress=[
                {"ports": _NAMES},
                {"to": [{"podSelector": _BUS}], "ports": _ports(CLIENTS, ROUTES)},
                {"ports": _ports(LEAF_PORT)},
            ],
        ),
    ]


def _policy(
    values: ChartValues,
    name: str,
    selector: JsonObject,
    *,
    ingress: list[JsonObject] | None = None,
    egress: list[JsonObject] | None = None,
) -> JsonObject:
    spec: JsonObject = {"podSelector": selector, "policyTypes": []}
    for word, rules in (("Ingress", ingress), ("Egress", egress)):
        if rules is not None:
            spec["policyTypes"].append(word)
            spec[word.lower()] = rules
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": values.namespace},
        "spec": spec,
    }


def _ports(*numbers: int) -> list[JsonObject]:
    return [{"protocol": "TCP", "port": number} for number in numbers]
