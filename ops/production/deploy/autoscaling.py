"""Which services another replica helps, and by what more of them are started: two that answer questions, and none that decides or writes.

Of the replicas of a service that decides, writes or watches one works and the others stand by (docs/deploy.md#more-replicas).
"""

from events.json_object import JsonObject
from ops.production.deploy.chart_values import ChartValues
from ops.production.deploy.deployments import WEBHOOK, labels
from ops.production.deploy.permissions import VISIBILITY
from ops.production.visibility.lag_metrics import METRIC

LAG = METRIC
"""What an adapter of metrics has to serve of each pod, as the largest over its streams."""


def webhook_scaling(values: ChartValues) -> list[JsonObject]:
    """Who is asked before an object is stored: it folds nothing, so it is only ever short of CPU."""
    return [_scaled(values, WEBHOOK, [_cpu(values)])]


def visibility_scaling_by_itself(values: ChartValues) -> list[JsonObject]:
    """The same without an adapter: it tells its lag itself, whichever of its replicas is asked."""
    target = {"type": "AverageValue", "averageValue": values.text("autoscaling.lagSeconds")}
    lag = {"type": "External", "external": {"metric": {"name": LAG}, "target": target}}
    return [_scaled(values, VISIBILITY, [_cpu(values), lag])]


def visibility_scaling(values: ChartValues) -> list[JsonObject]:
    """Who says who waits: one whose answers leave it no time to fold falls behind the log."""
    lag = {
        "type": "Pods",
        "pods": {
            "metric": {"name": LAG},
            "target": {"type": "AverageValue", "averageValue": values.text("autoscaling.lagSeconds")},
        },
    }
    return [_scaled(values, VISIBILITY, [_cpu(values), lag])]


def _cpu(values: ChartValues) -> JsonObject:
    target = {"type": "AverageValue", "averageValue": values.text("autoscaling.cpu")}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _scaled(values: ChartValues, service: str, metrics: list[JsonObject]) -> JsonObject:
    name = f"kuelog-{service}"
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": values.namespace, "labels": labels(service)},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": values.whole("replicas"),
            "maxReplicas": values.whole("autoscaling.maxReplicas"),
            "metrics": metrics,
        },
    }
