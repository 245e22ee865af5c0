"""What watches over an installation: where Prometheus finds its metrics, alerts, and boards for Grafana."""

import json

from events.json_object import JsonObject
from ops.files.yaml_text import yaml_text
from ops.production.deploy.chart_values import ChartValues
from ops.production.deploy.deployments import METRICS, NAME_LABEL, PART_LABEL, TOKEN_SECRET, labels
from ops.production.metrics.alert_rules import rules
from ops.production.metrics.boards.cards import CARDS
from ops.production.metrics.boards.fairness import FAIRNESS
from ops.production.metrics.boards.log import LOG
from ops.production.metrics.boards.overview import OVERVIEW
from ops.production.metrics.boards.queues import QUEUES

_HEAD = "# Made by `python -m ops.production.deploy` from ops/production/metrics/alert_rules.py; change that, not this file.\n"


BOARDS = (OVERVIEW, QUEUES, CARDS, FAIRNESS, LOG)
"""What Grafana is given."""


def service_monitor(values: ChartValues) -> list[JsonObject]:
    """How Prometheus finds all who serve metrics where its operator is and takes no PodMonitors: by a Service of all of them.

    Who is not ready is found as well: it tells why. Pods without a port of that name have no endpoint.
    """
    service: JsonObject = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kuelog-metrics", "namespace": values.namespace, "labels": labels("metrics")},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {NAME_LABEL: "kuelog"},
            "ports": [{"name": "metrics", "port": METRICS, "targetPort": "metrics"}],
        },
    }
    spec: JsonObject = {
        "selector": {"matchLabels": labels("metrics")},
        # The component of each pod, as all of them stand behind one Service.
        "podTargetLabels": [PART_LABEL],
        "endpoints": [_scraped()],
    }
    meta = {"name": "kuelog", "namespace": values.namespace}
    monitor = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": meta, "spec": spec}
    return [service, monitor]


def pod_monitor(values: ChartValues) -> list[JsonObject]:
    """How Prometheus finds all who serve metrics, where its operator is; labels stay as they are told."""
    spec = {"selector": {"matchLabels": {NAME_LABEL: "kuelog"}}, "podMetricsEndpoints": [_scraped()]}
    meta = {"name": "kuelog", "namespace": values.namespace}
    return [{"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", "metadata": meta, "spec": spec}]


def _scraped() -> JsonObject:
    return {
        "port": "metrics",
        "honorLabels": True,
        "authorization": {"credentials": {"name": TOKEN_SECRET, "key": "token"}},
    }


def prometheus_rule(values: ChartValues) -> list[JsonObject]:
    """The alerts where Prometheus's operator is."""
    meta = {"name": "kuelog", "namespace": values.namespace}
    return [{"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": meta, "spec": rules()}]


def monitoring_files() -> dict[str, str]:
    """What is given to Prometheus and Grafana themselves: each file's text by its name."""
    boards = {f"{one.name}.json": json.dumps(one.model(), indent=2) + "\n" for one in BOARDS}
    return {"rules.yaml": _HEAD + yaml_text([rules()]), **boards}
