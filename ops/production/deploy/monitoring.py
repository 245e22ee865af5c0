"""What watches over an installation: alerts for Prometheus and its operator, and boards for Grafana."""

import json

from events.json_object import JsonObject
from ops.files.yaml_text import yaml_text
from ops.production.deploy.chart_values import ChartValues
from ops.production.metrics.alert_rules import rules
from ops.production.metrics.boards.cards import CARDS
from ops.production.metrics.boards.fairness import FAIRNESS
from ops.production.metrics.boards.log import LOG
from ops.production.metrics.boards.overview import OVERVIEW
from ops.production.metrics.boards.queues import QUEUES

_HEAD = "# Made by `python -m ops.production.deploy` from ops/production/metrics/alert_rules.py; change that, not this file.\n"


BOARDS = (OVERVIEW, QUEUES, CARDS, FAIRNESS, LOG)
"""What Grafana is given."""


def prometheus_rule(values: ChartValues) -> list[JsonObject]:
    """The alerts where Prometheus's operator is."""
    meta = {"name": "kuelog", "namespace": values.namespace}
    return [{"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": meta, "spec": rules()}]


def monitoring_files() -> dict[str, str]:
    """What is given to Prometheus and Grafana themselves: each file's text by its name."""
    boards = {f"{one.name}.json": json.dumps(one.model(), indent=2) + "\n" for one in BOARDS}
    return {"rules.yaml": _HEAD + yaml_text([rules()]), **boards}
