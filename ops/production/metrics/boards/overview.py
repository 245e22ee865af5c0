"""The first board for Grafana, one screen: who waits and runs, how long, on what, and whether anything is wrong."""

from ops.production.metrics.alert_rules import once, quantile, total
from ops.production.metrics.boards.board import Board, Panel, PanelQuery, Shape, each

_USED = total("kueue_cluster_queue_resource_usage", "resource")
_NOMINAL = total("kueue_cluster_queue_nominal_quota", "resource")

# fmt: off
_PANELS = (
    Panel(title="Waiting and running", queries=(PanelQuery(total("kueue_pending_workloads"), "waiting"), PanelQuery(total("kueue_admitted_active_workloads"), "admitted"))),
    Panel(title="Wait until admission, one in twenty is longer", unit="s", queries=(PanelQuery(quantile("0.95", "kueue_admission_wait_time_seconds"), "of those admitted"), PanelQuery(f"max({once('kuelog_oldest_pending_seconds')})", "of who waits longest"))),
    Panel(title="Use of the nominal quota of all queues", unit="percentunit", queries=(PanelQuery(f"{_USED} / ({_NOMINAL} > 0)", "{{resource}}"),)),
    Panel(title="Why not admitted", stacked=True, queries=(PanelQuery(total("kueue_unadmitted_workloads", "reason", "underlying_cause"), "{{reason}} {{underlying_cause}}"),)),
    Panel(title="Cards that can't be used", stacked=True, queries=(PanelQuery(total("kuelog_card_state", "state", selector="state!~ok|cordoned"), "{{state}}"),)),
    Panel(title="Evictions of the last day", stacked=True, queries=(PanelQuery(total("kueue_evicted_workloads_total", "reason", over="increase[1d]"), "{{reason}}"),)),
    Panel(title="The slowest service and the oldest note of a witness", unit="s", queries=(PanelQuery("max(kuelog_fold_lag_seconds)", "behind the log"), PanelQuery("time() - min(kuelog_witness_timestamp_seconds)", "since the note"))),
    Panel(title="Differences between log and cluster", stacked=True, queries=(each("kuelog_drift", "{{kind}}"),)),
    Panel(title="Alerts that fire", shape=Shape.TABLE, queries=(PanelQuery('ALERTS{alertname=~"(Kuelog|Kueue|Hami).*", alertstate="firing"}'),)),
)
# fmt: on

OVERVIEW = Board(name="overview", title="kuelog", panels=_PANELS)
