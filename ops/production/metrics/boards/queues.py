"""The board of queues for Grafana: who waits and why, what is used, how long it takes, who evicts whom.

It asks for Kueue's names only, so it shows a cluster of Kueue's as well.
"""

from ops.production.metrics.alert_rules import once, total
from ops.production.metrics.boards.board import RATE, Board, Panel, PanelQuery, Shape, Variable, quantiles, rate

_QUEUES = "cluster_queue=~$cluster_queue"
_LOCAL_QUEUES = "namespace=~$namespace"


def _amount(name: str, *labels: str) -> str:
    return total(name, *labels, selector=_QUEUES)


def _mean(name: str) -> str:
    return f"sum(rate({name}_sum[1h])) / sum(rate({name}_count[1h]))"


_WAIT = "kueue_admission_wait_time_seconds"
_OWN = ("cluster_queue", "resource")
_USED = _amount("kueue_cluster_queue_resource_usage", *_OWN)
_NOMINAL = _amount("kueue_cluster_queue_nominal_quota", *_OWN)
_BY_QUEUE, _BY_RESOURCE = "{{cluster_queue}}", "{{cluster_queue}} {{resource}}"

# fmt: off
_PANELS = (
    Panel(title="Who waits", stacked=True, queries=(PanelQuery(_amount("kueue_pending_workloads", "cluster_queue", "status"), "{{cluster_queue}} {{status}}"),), note="active: in line; inadmissible: until something changes"),
    Panel(title="Why not admitted", stacked=True, queries=(PanelQuery(_amount("kueue_unadmitted_workloads", "reason", "underlying_cause"), "{{reason}} {{underlying_cause}}"),)),
    Panel(title="Use of the nominal quota", unit="percentunit", queries=(PanelQuery(f"{_USED} / ({_NOMINAL} > 0)", _BY_RESOURCE),), note="Above 100 % it is borrowed"),
    Panel(title="Asked for by who waits", queries=(PanelQuery(_amount("kueue_cluster_queue_resource_pending", *_OWN), _BY_RESOURCE),), note="CPU in cores"),
    Panel(title="Borrowed", queries=(PanelQuery(f"clamp_min({_USED} - {_NOMINAL}, 0)", _BY_RESOURCE),)),
    Panel(title="Idle or lent", queries=(PanelQuery(f"clamp_min({_NOMINAL} - {_USED}, 0)", _BY_RESOURCE),)),
    Panel(title="Wait until admission", unit="s", queries=quantiles(_WAIT, "cluster_queue", legend=_BY_QUEUE, selector=_QUEUES), note="Of those who were admitted"),
    Panel(title="Waits", unit="s", shape=Shape.HEAT, queries=(PanelQuery(f'sum by (le) (max by (cluster_queue, priority_class, le) (increase({_WAIT}_bucket{{cluster_queue=~"$cluster_queue"}}[{RATE}])))', "{{le}}"),)),
    Panel(title="Where the time goes", unit="s", stacked=True, queries=(PanelQuery(_mean("kueue_quota_reserved_wait_time_seconds"), "quota"), PanelQuery(_mean("kueue_admission_checks_wait_time_seconds"), "admission checks"), PanelQuery(_mean("kueue_admitted_until_ready_wait_time_seconds"), "pods")), note="Means of the last hour, of all queues"),
    Panel(title="Admitted and finished a minute", queries=(PanelQuery(rate("kueue_admitted_workloads_total", "cluster_queue", selector=_QUEUES, times=" * 60"), f"admitted {_BY_QUEUE}"), PanelQuery(rate("kueue_finished_workloads_total", "cluster_queue", selector=_QUEUES, times=" * 60"), f"finished {_BY_QUEUE}"))),
    Panel(title="Evictions an hour", stacked=True, queries=(PanelQuery(rate("kueue_evicted_workloads_total", "reason", "underlying_cause", selector=_QUEUES, times=" * 3600"), "{{reason}} {{underlying_cause}}"),)),
    Panel(title="Who preempts, an hour", stacked=True, queries=(PanelQuery(total("kueue_preempted_workloads_total", "preempting_cluster_queue", "reason", over="increase[1h]"), "{{preempting_cluster_queue}} {{reason}}"),)),
    Panel(title="Fair shares", queries=(PanelQuery(once("kueue_cluster_queue_weighted_share", _QUEUES), _BY_QUEUE), PanelQuery(once("kueue_cohort_weighted_share"), "cohort {{cohort}}"))),
    Panel(title="Used by local queues", stacked=True, queries=(PanelQuery(total("kueue_local_queue_resource_usage", "namespace", "name", "resource", selector=_LOCAL_QUEUES), "{{namespace}}/{{name}} {{resource}}"),)),
    Panel(title="Queues that take nothing in", shape=Shape.TABLE, queries=(PanelQuery(f"{once('kueue_cluster_queue_status', 'status!=active')} == 1"),)),
    Panel(title="Queues and cohorts", shape=Shape.TABLE, queries=(PanelQuery(f"{once('kueue_cluster_queue_info', _QUEUES)} * on (cluster_queue) group_left () {_amount('kueue_pending_workloads', 'cluster_queue')}"),), note="The value is how many wait"),
)
# fmt: on


QUEUES = Board(
    name="queues",
    title="Queues",
    tags=("kuelog", "kueue"),
    panels=_PANELS,
    variables=(
        Variable(name="cluster_queue", metric="kueue_cluster_queue_info", label="cluster_queue"),
        Variable(name="namespace", metric="kueue_local_queue_status", label="namespace"),
    ),
)
