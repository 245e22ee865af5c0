"""The board of the log and its services for Grafana: who lags behind, who writes what, how full it is, and what somebody has to act on."""

from ops.production.metrics.alert_rules import once, total
from ops.production.metrics.boards.board import RATE, Board, Panel, PanelQuery, Shape, each, quantiles, rate

_STREAM, _PARTITION = "{{stream}}", "{{partition}}"

# fmt: off
_PANELS = (
    Panel(title="How far services lag behind the log", unit="s", queries=(PanelQuery("max by (service, partition, stream) (kuelog_fold_lag_seconds)", "{{service}} {{partition}} {{stream}}"),)),
    Panel(title="Messages that are not folded", queries=(PanelQuery("max by (service, partition, stream) (kuelog_fold_lag_messages)", "{{service}} {{partition}} {{stream}}"),)),
    Panel(title="Commits a second by author", unit="ops", stacked=True, queries=(PanelQuery(rate("kuelog_commits_total", "author"), "{{author}}"),)),
    Panel(title="Events a second, the ten most frequent", unit="ops", stacked=True, queries=(PanelQuery(f"topk(10, {rate('kuelog_events_total', 'type')})", "{{type}}"),)),
    Panel(title="Appends a second by result", unit="ops", stacked=True, queries=(PanelQuery(f"sum by (partition, result) (rate(kuelog_appends_total[{RATE}]))", "{{partition}} {{result}}"),), note="conflict: another author was first"),
    Panel(title="How long the bus takes to store", unit="s", queries=quantiles("kuelog_append_seconds", "partition", legend=_PARTITION)),
    Panel(title="How long turns take that decide something", unit="s", queries=quantiles("kuelog_turn_seconds", "author", legend="{{author}}", selector="result=decided"), note="With the time until the log has it"),
    Panel(title="Watches that are silent", unit="s", queries=(PanelQuery("time() - min by (kind) (kuelog_watch_last_event_timestamp_seconds)", "{{kind}}"),), note="A watch is told every minute or so that nothing has changed"),
    Panel(title="Lists of all objects an hour", stacked=True, queries=(PanelQuery(rate("kuelog_watch_lists_total", "kind", "reason", times=" * 3600"), "{{kind}} {{reason}}"),)),
    Panel(title="CPU of the processes", unit="percentunit", queries=(PanelQuery("rate(process_cpu_seconds_total[$__rate_interval]) * on (instance) group_left () max by (instance) (kuelog_build_info)", "{{instance}}"),), note="Of one core"),
    Panel(title="Memory of the processes", unit="bytes", queries=(PanelQuery("process_resident_memory_bytes * on (instance) group_left () max by (instance) (kuelog_build_info)", "{{instance}}"),)),
    Panel(title="Decided and not applied for", unit="s", queries=(PanelQuery("max by (partition) (kuelog_apply_lag_seconds)", "{{partition}} applied"), PanelQuery("max by (service) (kuelog_outbox_lag_seconds)", "facts of {{service}} stored"))),
    Panel(title="Decisions applied a minute", stacked=True, queries=(PanelQuery(rate("kuelog_applied_total", "result", times=" * 60"), "{{result}}"),)),
    Panel(title="Size of the streams", unit="bytes", queries=(each("kuelog_log_bytes", _STREAM), each("kuelog_log_limit_bytes", f"limit of {_STREAM}"))),
    Panel(title="Days until they are full", unit="d", queries=(each("kuelog_log_days_until_full", _STREAM),), note="As they have grown since their first message"),
    Panel(title="Age of what is proved", unit="s", queries=(PanelQuery("time() - min(kuelog_witness_timestamp_seconds)", "witness"), PanelQuery("time() - min by (partition) (kuelog_replay_verified_timestamp_seconds)", "decided again {{partition}}"))),
    Panel(title="Decided again a minute, and otherwise", queries=(PanelQuery(rate("kuelog_replay_verified_total", "partition", times=" * 60"), "decided again {{partition}}"), each("kuelog_replay_differences", "otherwise: {{what}} {{partition}}")), note="Where a verifier runs"),
    Panel(title="Clocks ahead of the bus's", unit="s", below_zero=True, queries=(PanelQuery("kuelog_clock_skew_seconds", "{{instance}}"),)),
    Panel(title="Who has halted, and why", shape=Shape.TABLE, queries=(PanelQuery(f"{once('kuelog_partition_halted')} > 0"), PanelQuery(f"{once('kuelog_failing')} > 0"))),
    Panel(title="What is left alone, amiss or skipped", stacked=True, queries=(PanelQuery(total("kuelog_set_aside", "service", "scope"), "left alone by {{service}}: {{scope}}"), PanelQuery(total("kuelog_amiss_messages", "what", "author"), "amiss: {{what}} of {{author}}"), PanelQuery(total("kuelog_quarantined_messages", "stream"), f"skipped in {_STREAM}"), PanelQuery(total("kuelog_given_back_messages", "stream"), f"given back to {_STREAM}"))),
    Panel(title="Versions that run", shape=Shape.TABLE, queries=(PanelQuery("count by (version, rules, python) (kuelog_build_info)"),), note="Two rules at once: an upgrade is under way"),
)
# fmt: on

LOG = Board(name="log", title="Log and services", panels=_PANELS)
