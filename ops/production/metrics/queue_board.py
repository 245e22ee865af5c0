"""The board of queues for Grafana: who waits and why, what is used, how long it takes, who evicts whom.

It asks for Kueue's names only, so it shows a cluster of Kueue's as well.
"""

from enum import StrEnum

import msgspec

from events.json_object import JsonObject
from ops.production.metrics.alert_rules import once, quantile, total

_RATE = "$__rate_interval"
_QUEUES = "cluster_queue=~$cluster_queue"
_LOCAL_QUEUES = "namespace=~$namespace"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT, _WHOLE = 12, 8, 24
_SCHEMA = 39
"""The version of Grafana's model of boards: that of Grafana 10.4, which later ones convert."""


class Shape(StrEnum):
    """How a panel is drawn, in Grafana's words."""

    SERIES = "timeseries"
    TABLE = "table"
    HEAT = "heatmap"


class Query(msgspec.Struct, frozen=True):
    """What is asked, and what each answer is called."""

    expr: str
    legend: str = ""


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One picture."""

    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    shape: Shape = Shape.SERIES
    stacked: bool = False
    note: str = ""


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """What one may choose: the values that a label of a metric has."""

    name: str
    metric: str
    label: str


VARIABLES = (
    Variable(name="cluster_queue", metric="kueue_cluster_queue_info", label="cluster_queue"),
    Variable(name="namespace", metric="kueue_local_queue_status", label="namespace"),
)


def _amount(name: str, *labels: str) -> str:
    return total(name, *labels, selector=_QUEUES)


def _rate(name: str, *labels: str, times: str = "") -> str:
    return total(name, *labels, selector=_QUEUES, over=f"rate[{_RATE}]") + times


def _mean(name: str) -> str:
    return f"sum(rate({name}_sum[1h])) / sum(rate({name}_count[1h]))"


_WAIT = "kueue_admission_wait_time_seconds"
_OWN = ("cluster_queue", "resource")
_USED = _amount("kueue_cluster_queue_resource_usage", *_OWN)
_NOMINAL = _amount("kueue_cluster_queue_nominal_quota", *_OWN)
_BY_QUEUE, _BY_RESOURCE = "{{cluster_queue}}", "{{cluster_queue}} {{resource}}"

# fmt: off
PANELS = (
    Panel(title="Who waits", stacked=True, queries=(Query(_amount("kueue_pending_workloads", "cluster_queue", "status"), "{{cluster_queue}} {{status}}"),), note="active: in line; inadmissible: until something changes"),
    Panel(title="Why not admitted", stacked=True, queries=(Query(_amount("kueue_unadmitted_workloads", "reason", "underlying_cause"), "{{reason}} {{underlying_cause}}"),)),
    Panel(title="Use of the nominal quota", unit="percentunit", queries=(Query(f"{_USED} / ({_NOMINAL} > 0)", _BY_RESOURCE),), note="Above 100 % it is borrowed"),
    Panel(title="Asked for by who waits", queries=(Query(_amount("kueue_cluster_queue_resource_pending", *_OWN), _BY_RESOURCE),), note="CPU in cores"),
    Panel(title="Borrowed", queries=(Query(f"clamp_min({_USED} - {_NOMINAL}, 0)", _BY_RESOURCE),)),
    Panel(title="Idle or lent", queries=(Query(f"clamp_min({_NOMINAL} - {_USED}, 0)", _BY_RESOURCE),)),
    Panel(title="Wait until admission", unit="s", queries=tuple(Query(quantile(of, _WAIT, "cluster_queue", span=_RATE, selector=_QUEUES), f"p{of[2:]} {_BY_QUEUE}") for of in ("0.50", "0.95", "0.99")), note="Of those who were admitted"),
    Panel(title="Waits", unit="s", shape=Shape.HEAT, queries=(Query(f'sum by (le) (increase({_WAIT}_bucket{{cluster_queue=~"$cluster_queue"}}[{_RATE}]))', "{{le}}"),)),
    Panel(title="Where the time goes", unit="s", stacked=True, queries=(Query(_mean("kueue_quota_reserved_wait_time_seconds"), "quota"), Query(_mean("kueue_admission_checks_wait_time_seconds"), "admission checks"), Query(_mean("kueue_admitted_until_ready_wait_time_seconds"), "pods")), note="Means of the last hour, of all queues"),
    Panel(title="Admitted and finished a minute", queries=(Query(_rate("kueue_admitted_workloads_total", "cluster_queue", times=" * 60"), f"admitted {_BY_QUEUE}"), Query(_rate("kueue_finished_workloads_total", "cluster_queue", times=" * 60"), f"finished {_BY_QUEUE}"))),
    Panel(title="Evictions an hour", stacked=True, queries=(Query(_rate("kueue_evicted_workloads_total", "reason", "underlying_cause", times=" * 3600"), "{{reason}} {{underlying_cause}}"),)),
    Panel(title="Who preempts, an hour", stacked=True, queries=(Query(total("kueue_preempted_workloads_total", "preempting_cluster_queue", "reason", over="increase[1h]"), "{{preempting_cluster_queue}} {{reason}}"),)),
    Panel(title="Fair shares", queries=(Query(once("kueue_cluster_queue_weighted_share", _QUEUES), _BY_QUEUE), Query(once("kueue_cohort_weighted_share"), "cohort {{cohort}}"))),
    Panel(title="Used by local queues", stacked=True, queries=(Query(total("kueue_local_queue_resource_usage", "namespace", "name", "resource", selector=_LOCAL_QUEUES), "{{namespace}}/{{name}} {{resource}}"),)),
    Panel(title="Queues that take nothing in", shape=Shape.TABLE, queries=(Query(f"{once('kueue_cluster_queue_status', 'status!=active')} == 1"),)),
    Panel(title="Queues and cohorts", shape=Shape.TABLE, queries=(Query(f"{once('kueue_cluster_queue_info', _QUEUES)} * on (cluster_queue) group_left () {_amount('kueue_pending_workloads', 'cluster_queue')}"),), note="The value is how many wait"),
)
# fmt: on


def queue_board() -> JsonObject:
    """The board as Grafana imports it."""
    return {
        "uid": "kuelog-queues",
        "title": "Queues",
        "tags": ["kuelog", "kueue"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_datasource(), *(_variable(one) for one in VARIABLES)]},
        "panels": [_panel(number, one) for number, one in enumerate(PANELS)],
    }


def _datasource() -> JsonObject:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _variable(one: Variable) -> JsonObject:
    query = f"label_values({one.metric}, {one.label})"
    return {
        "name": one.name,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": one.name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _panel(number: int, one: Panel) -> JsonObject:
    custom = {"fillOpacity": 30, "stacking": {"mode": "normal"}} if one.stacked else {}
    across = _WHOLE // _WIDTH
    where = {"x": number % across * _WIDTH, "y": number // across * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    return {
        "id": number + 1,
        "title": one.title,
        "description": one.note,
        "type": str(one.shape),
        "datasource": _SOURCE,
        "gridPos": where,
        "fieldConfig": {"defaults": {"unit": one.unit, "min": 0, "custom": custom}, "overrides": []},
        "targets": [_target(chr(ord("A") + place), one.shape, query) for place, query in enumerate(one.queries)],
    }


def _target(ref: str, shape: Shape, query: Query) -> JsonObject:
    form = {Shape.TABLE: "table", Shape.HEAT: "heatmap"}.get(shape, "time_series")
    return {
        "refId": ref,
        "datasource": _SOURCE,
        "expr": query.expr,
        "legendFormat": query.legend,
        "format": form,
        "instant": shape is Shape.TABLE,
        "range": shape is not Shape.TABLE,
    }
