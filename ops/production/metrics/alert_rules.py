"""The alerts, the rules that they rest on, and what to do first about each, as Prometheus takes them.

Replicas export the same figures of queues, cards and the log, and Prometheus adds labels of its own to each, so these are taken once
before they are summed. Figures that differ by process, such as its lag, keep those labels: the alert names the process.
Thresholds are values to begin with.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from events.json_object import JsonObject
from ops.production.metrics.names import BY_NAME, ROLE

_MATCHER = re.compile(r"(\w+(?:=~|!~|!=|=))(.*)")
GROUP = "kuelog"
RUNBOOKS = "docs/operations.md"
USAGE = "cluster_queue_resource:kueue_usage:ratio"


class AlertSeverity(StrEnum):
    """How urgent an alert is: at once, in working hours, or for information."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """An expression under a name of its own."""

    name: str
    labels: tuple[str, ...]
    expr: str


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert for Prometheus, with its runbook line."""

    name: str
    severity: AlertSeverity
    expr: str
    minutes: int
    """How long it must hold."""
    summary: str
    """What is so."""
    runbook: str
    """What to do first."""

    @property
    def anchor(self) -> str:
        """Where its line stands in the runbooks."""
        return self.name.lower()


def once(name: str, selector: str = "", over: str = "") -> str:
    """A metric with all its own labels, whoever exports it and however often; a counter over `over`, as `increase[1h]`.

    A selector has one matcher, with its value as it is: `reason=~message|stopped`.
    """
    labels = ", ".join(one for one in BY_NAME[name].labels if one != ROLE)
    chosen = name + _matched(selector)
    if over:
        function, _, span = over.rstrip("]").partition("[")
        chosen = f"{function}({chosen}[{span}])"
    return f"max by ({labels}) ({chosen})" if labels else f"max({chosen})"


def grown(name: str) -> str:
    """By how much a gauge grew within an hour, also one that was not told before: `delta` does not see that."""
    now = once(name)
    before = now.replace(f"({name})", f"({name} offset 1h)")
    return f"{now} - ({before} or {now} * 0)"


def total(name: str, *labels: str, selector: str = "", over: str = "") -> str:
    """The sum of a metric by some of its labels, each series once."""
    by = f" by ({', '.join(labels)})" if labels else ""
    return f"sum{by} ({once(name, selector, over)})"


def quantile(of: str, name: str, *labels: str, span: str = "30m", selector: str = "") -> str:
    """A quantile of a histogram; replicas that export the same do not change it."""
    chosen = f"{name}_bucket{_matched(selector)}[{span}]"
    return f"histogram_quantile({of}, sum by ({', '.join(('le', *labels))}) (rate({chosen})))"


def _matched(selector: str) -> str:
    return _MATCHER.sub(r'{\1"\2"}', selector)


RECORDINGS = (
    Recording(
        name=USAGE,
        labels=("cluster_queue", "resource"),
        expr=f"{total('kueue_cluster_queue_resource_usage', 'cluster_queue', 'resource')} / "
        f"({total('kueue_cluster_queue_nominal_quota', 'cluster_queue', 'resource')} > 0)",
    ),
)

_C, _W, _I = AlertSeverity.CRITICAL, AlertSeverity.WARNING, AlertSeverity.INFO
_HALTED = "kuelog_partition_halted"
_EVICTED = total("kueue_evicted_workloads_total", "cluster_queue", over="increase[1h]")
_ADMITTED = total("kueue_admitted_workloads_total", "cluster_queue", over="increase[1h]")
WASTED_PART = (
    f"{total('kuelog_preemptions_wasted_total', over='increase[6h]')} / "
    f"({total('kueue_preempted_workloads_total', over='increase[6h]')} > 0)"
)
BUDGET_SPENT = f"{once('kuelog_budget_used')} / ({once('kuelog_budget_limit')} > 0)"
_OF_TREES = ("queue-manager", "admitter", "preemptor", "applier")


def _nobody(service: str) -> str:
    """The partitions of trees that somebody reads and nobody folds as that service does: with a process goes all that it tells."""
    known = 'group by (stream) (kuelog_folded_sequence{stream=~"LOG_.*"})'
    return f'label_replace({known} unless on (stream) kuelog_folded_sequence{{service="{service}"}}, "service", "{service}", "", "")'


_AWAY = " or ".join(
    (
        *(_nobody(one) for one in _OF_TREES),
        'absent(kuelog_folded_sequence{service="accountant"})',
        'absent(kuelog_outbox_messages{service="watcher"})',
    )
)
_FILLED = f"{once('kuelog_log_bytes')} / ({once('kuelog_log_limit_bytes')} > 0)"


def _alert(severity: AlertSeverity, name: str, minutes: int, expr: str, summary: str, runbook: str) -> Alert:
    return Alert(name=name, severity=severity, minutes=minutes, expr=expr, summary=summary, runbook=runbook)


# fmt: off
# A row an alert, as on the page.
ALERTS = (
    _alert(_C, "KuelogDown", 5, "absent(kuelog_build_info)", "Nobody exports metrics of kuelog", "What runs goes on, nothing new starts. `kubectl -n kuelog-system get pods`, then the bus"),
    _alert(_C, "KuelogServiceAway", 5, _AWAY, "Nobody exports metrics of a service, of all partitions or of one", "Without queue manager, admitter, preemptor or accountant nothing new starts, without watcher nothing is seen, without applier nothing is written; what runs goes on. `kubectl -n kuelog-system get pods`, then `kuelog log leases`"),
    _alert(_C, "KuelogLogRegressed", 0, f"{once(_HALTED, 'reason=~regressed|witness')} > 0", "The log has lost its tail, or holds something else than was read", "Nothing is decided, on purpose. Do not remove anything; see [halts](#halts)"),
    _alert(_C, "KuelogPartitionHalted", 0, f"{once(_HALTED, 'reason=~message|stopped')} > 0", "A partition can't go on", "`/readyz` names stream and sequence, and [halts](#halts) what to do"),
    _alert(_C, "KuelogBusAway", 1, f"{once(_HALTED, 'reason=bus')} > 0", "The bus takes nothing", "[When the bus is away](#when-the-bus-is-away), [when it takes nothing](#when-the-bus-takes-nothing)"),
    _alert(_W, "KuelogClockWrong", 1, f"{once(_HALTED, 'reason=clock')} > 0", "A machine's clock is too far ahead for its replica to decide", "Set its clock. Other replicas go on"),
    _alert(_W, "KuelogClockSkew", 5, "abs(kuelog_clock_skew_seconds) > 2", "A machine's clock and the bus's differ by more than 2 s", "Set the clock before it is 5 s ahead: then that replica decides nothing"),
    _alert(_W, "KuelogFailing", 0, f"{once('kuelog_failing')} > 0", "A decider or an observer fails, the others go on", "The log of the service has the traceback. Upgrade"),
    _alert(_C, "KuelogTreeSetAside", 0, f"{once('kuelog_set_aside', 'scope=tree')} > 0", "A whole tree of queues is left alone", "`kuelog explain` of one of its queues says why. Upgrade"),
    _alert(_W, "KuelogSetAside", 10, f"{once('kuelog_set_aside', 'scope!=tree')} > 0", "Something is left alone because a service failed on it", "`kuelog explain` of the workload says what and why. It is tried again when it or its queues change, and under other rules"),
    _alert(_W, "KuelogFoldLagging", 2, "kuelog_fold_lag_seconds > 30", "A service decides on an old view", "Look at its CPU, and at who writes so much: `kuelog_events_total`"),
    _alert(_C, "KuelogFoldStuck", 5, "kuelog_fold_lag_messages > 0 and delta(kuelog_folded_sequence[10m]) == 0", "A service has messages to fold and does not move", "`/readyz` first. If it says nothing, start the service anew: nothing is lost"),
    _alert(_W, "KuelogAppendConflicts", 15, 'sum by (partition) (rate(kuelog_appends_total{result="conflict"}[10m])) / sum by (partition) (rate(kuelog_appends_total[10m])) > 0.5', "More than half of the appends come too late", "Too many replicas decide for one partition, or one is far from the bus"),
    _alert(_W, "KuelogAppendSlow", 10, f"{quantile('0.99', 'kuelog_append_seconds', 'partition', span='5m')} > 0.25", "The bus takes more than a quarter of a second to store", "Its disk is slow to sync, or one of its servers is away"),
    _alert(_C, "KuelogAppendFails", 5, 'sum by (partition, result) (rate(kuelog_appends_total{result=~"full|unavailable|regressed"}[5m])) > 0', "Decisions can't be stored", "Nothing is half written. `full`: [what fills up](#what-fills-up); else [the bus](#when-the-bus-is-away)"),
    _alert(_C, "KuelogApplyLagging", 5, f"{once('kuelog_apply_lag_seconds')} > 60", "The decisions of a partition are not written to the cluster", "The API server is slow, or refuses for now: the applier's log says `not applied yet`. Quota is held meanwhile, and [nobody more is admitted](rules/log.md#on-their-way) than is written"),
    _alert(_W, "KuelogApplyRejected", 0, f"{total('kuelog_applied_total', selector='result=rejected', over='increase[15m]')} > 5", "The cluster rejects what was decided", "`kuelog log show --type DecisionRejected` says why: a webhook, a right, an object that somebody else writes"),
    _alert(_W, "KuelogOutboxLagging", 5, "kuelog_outbox_lag_seconds > 30", "What was seen is not on the log yet", "The bus is slow or away, and nothing is decided on what it does not hold"),
    _alert(_W, "KuelogStreamFilling", 30, f"{_FILLED} > 0.8", "A stream is 80 % full", "[What fills up](#what-fills-up): why is it not rolled?"),
    _alert(_C, "KuelogStreamFullSoon", 30, f"{once('kuelog_log_days_until_full')} < 1 and on (stream) {_FILLED} > 0.5", "A stream is more than half full, and full within a day", "[What fills up](#what-fills-up). When it is full nothing is admitted"),
    _alert(_C, "KuelogCertificateExpires", 5, "kuelog_certificate_expires_timestamp_seconds - time() < 259200", "A certificate expires within three days, has expired, or is not there", "With the webhook's no job can be created any more. `/readyz` of the service says why it is not renewed: its Secret, a right, or cert-manager"),
    _alert(_W, "KuelogCertificateNotRenewed", 15, f"{once('kuelog_certificate_not_renewed')} > 0", "The certificate that should be shown can't be had", "`/readyz` of the service says why; the one before is shown until it expires"),
    _alert(_W, "KuelogWitnessOld", 5, "time() - kuelog_witness_timestamp_seconds > 300", "The witness has taken no note for five minutes", "`/readyz` says why: its volume, its key, or the bus"),
    _alert(_W, "KuelogCheckpointNotHandedOut", 180, f"{once('kuelog_checkpoint_outstanding')} > 0", "For three hours a place has taken no checkpoint", "`/readyz` of the service says why"),
    _alert(_W, "KuelogSiteAway", 15, f"{once('kuelog_site_connected')} == 0", "A site is not connected to its hub", "[How it stands](sites.md#how-it-stands): the site decides on; what is copied can be asked, and the rest comes when it is back"),
    _alert(_W, "KuelogSiteBehind", 15, f"{once('kuelog_site_behind_messages')} > 0", "The copy of a site's log does not come up with it", "The disk of the hub's bus, then the line: `kuelog sites show` says which stream"),
    _alert(_C, "KuelogReplayDiffers", 0, f"{once('kuelog_replay_differences')} > 0", "A decision on the log comes out otherwise when it is decided again", "Stop upgrades. The verifier's log names stream and sequence; `kuelog replay --verify` shows the difference and the facts that led there ([replays](#replays))"),
    _alert(_W, "KuelogReplayBehind", 5, "time() - kuelog_replay_verified_timestamp_seconds > 3600", "The verifier has not been at the end of the log for an hour", "`/readyz` of the verifier first; `kuelog_replay_verified_total` says whether it moves. Nothing waits for it"),
    _alert(_C, "KuelogAmiss", 0, f"{grown('kuelog_amiss_messages')} > 0", "Somebody stored what is not his to say, or with a wrong time", "[Amiss](#amiss)"),
    _alert(_W, "KuelogQuarantined", 0, f"{grown('kuelog_quarantined_messages')} > 0", "Somebody had a message skipped", "`kuelog log show --type Quarantined` says who and why"),
    _alert(_C, "KuelogGivenBack", 0, f"{grown('kuelog_given_back_messages')} > 0", "The bus had lost messages that it had acknowledged", "They are stored again. Look at its disk and at `sync_interval`"),
    _alert(_W, "KuelogControlIgnored", 5, f"{once('kuelog_ignored_messages')} > 0", "A word of control does not count", "`/readyz` names it; quarantine it"),
    _alert(_W, "KuelogPreemptionLoop", 0, f"{once('kuelog_preemption_loops')} > 0", "Workloads preempt and are preempted again and again", "`kuelog explain` of any of them names the others; [annotations](rules/README.md#annotations) that end it"),
    _alert(_W, "KuelogPreemptionWasted", 30, f"{WASTED_PART} > 0.05", "One in twenty preempted workloads had to stop for nothing", "`kuelog log show --type PreemptionOrdered` names who preempted; `kuelog history` of it says why it left: deleted while it waited, or room that others took (`kuelog.io/preemption-claims`)"),
    _alert(_I, "KuelogBudgetNearlySpent", 0, f"{BUDGET_SPENT} > 0.9", "More than 90 % of a budget is used", "`kuelog budget` says how long it lasts, who runs on it and who waits; `kuelog budget approve` gives more for the period"),
    _alert(_W, "KuelogBudgetSpent", 0, f"{BUDGET_SPENT} >= 1", "A budget is used up", "What becomes of workloads then its queue or namespace says ([rules](rules/budgets.md#at-the-end)); `kuelog budget approve` gives more for the period"),
    _alert(_W, "KuelogWatchSilent", 10, "time() - kuelog_watch_last_event_timestamp_seconds > 900", "Nothing was heard of a kind for a quarter of an hour, not even that nothing has changed", "The connection to the API server, or the right to watch: the watcher's log says `watch broken` or `not seen`"),
    _alert(_W, "KuelogRelistStorm", 0, 'increase(kuelog_watch_lists_total{reason="expired"}[30m]) > 5', "All objects of a kind are listed again and again", "The API server forgets changes before they are read: its etcd is compacted too often, or the watcher has too little CPU"),
    _alert(_W, "KueueAttemptSlow", 10, f"{quantile('0.99', 'kueue_admission_attempt_duration_seconds', span='5m')} > 5", "An attempt to admit takes more than five seconds", "`kuelog_turn_seconds` says which decider; a slow bus shows in `kuelog_append_seconds`"),
    _alert(_W, "KueuePendingMany", 15, f"{total('kueue_pending_workloads', 'cluster_queue')} > 100", "More than 100 workloads wait in a queue", "Raise its quota or add nodes; `kueue_unadmitted_workloads` says why they wait"),
    _alert(_I, "KueueQueueNearlyFull", 30, f"{USAGE} > 0.9", "A queue uses more than 90 % of its quota", "Nothing is wrong: read it with KueuePendingMany"),
    _alert(_W, "KueueWaitLong", 30, f"{quantile('0.95', 'kueue_admission_wait_time_seconds', 'cluster_queue')} > 3600", "One in twenty admitted workloads has waited more than an hour", "What is an hour for one queue is a day for another: set it as its people expect"),
    _alert(_W, "KuelogOldestWaits", 0, f"{once('kuelog_oldest_pending_seconds')} > 86400", "A workload has waited for a day", "`kuelog explain` it: waits of who is not admitted are in no histogram"),
    _alert(_W, "KueueIdleButWaiting", 60, f"{total('kueue_pending_workloads', 'cluster_queue')} > 0 and on (cluster_queue) max by (cluster_queue) ({USAGE}) < 0.5", "Workloads wait though half of the quota is free", "`kuelog explain` one of them: its cards, its flavor, a check, or it is too large"),
    _alert(_W, "KueueMisconfigured", 30, f"{total('kueue_unadmitted_workloads', 'cluster_queue', 'underlying_cause', selector='underlying_cause=~Misconfigured|NoMatchingFlavor')} > 0", "Workloads wait that no room will help", "Tell their owners; `kuelog explain` says what does not match"),
    _alert(_W, "KueueNeverFits", 30, f"{total('kueue_unadmitted_workloads', 'cluster_queue', 'underlying_cause', selector='underlying_cause=~ExceedsMaxQuota|ExceedsCardCapacity')} > 0", "Workloads ask for more than there can ever be", "Tell their owners; `kuelog explain` has the numbers"),
    _alert(_W, "KueueQueueInactive", 15, f"{once('kueue_cluster_queue_status', 'status!=active')} == 1", "A queue takes nothing in", "Its condition `Active` says why: stopped, or a flavor or a check is missing"),
    _alert(_W, "KueueEvictionsMany", 15, f"{_EVICTED} > 20 and on (cluster_queue) {_EVICTED} / {_ADMITTED} > 0.3", "Almost every third admission ends in an eviction", "`kueue_preempted_workloads_total` says which queue preempts"),
    _alert(_W, "KueueEvictionSlow", 15, f"{quantile('0.95', 'kueue_workload_eviction_latency_seconds', 'cluster_queue')} > 600", "Evicted workloads hold their quota for ten minutes", "Pods that hang in Terminating: finalizers, a grace period, a node that is gone"),
    _alert(_W, "KueueChecksSlow", 30, f"{quantile('0.95', 'kueue_admission_checks_wait_time_seconds', 'cluster_queue')} > 1800", "Quota is held for half an hour while admission checks think", "Who answers the check? See [checks.md](checks.md)"),
    _alert(_W, "KueueOverbooked", 30, f"{once('kuelog_cohort_overbooked')} > 0", "The workloads of a cohort hold more than all in it own", "A quota was lowered below what runs: it ends when enough of that has"),
    _alert(_W, "KuelogCardsOut", 10, f"{total('kuelog_card_state', 'node', 'state', selector='state!~ok|cordoned')} > 0", "Cards can't be used", "`kuelog devices` says which and why: driver, plugin, node"),
    _alert(_C, "KuelogCardOverfull", 5, f"{once('kuelog_drift', 'kind=Overfull')} > 0", "More is taken of a card than it has", "Somebody there will run out of memory: `kuelog drift` names the card and who holds it"),
    _alert(_W, "KuelogDrift", 60, f"{once('kuelog_drift', 'kind!=Overfull')} > 0", "Log and cluster differ about cards", "`kuelog drift` names card, holder, and since when"),
    _alert(_I, "KuelogMemoryStranded", 120, f"{once('kuelog_model_stranded_bytes')} / ({once('kuelog_model_free_bytes')} > 0) > 0.3", "Almost a third of the free memory of a model is of no use", "Slots or cores are gone on those cards: other shares of them, or fewer but larger ones"),
    _alert(_W, "KuelogQuotaAboveCards", 30, f"{once('kuelog_flavor_nominal')} > {once('kuelog_flavor_offered')}", "Quota promises more than the cards offer", "Lower the quota, or bring the cards back"),
    _alert(_C, "HamiCardOverallocated", 5, f"{total('hami_gpu_memory_allocated_bytes', 'node', 'device_uuid')} > {total('hami_gpu_memory_limit_bytes', 'node', 'device_uuid')}", "More memory of a card is given than it has", "Meant so where HAMi scales memory; else `kuelog drift`"),
)
# fmt: on


def rules(alerts: Sequence[Alert] = ALERTS) -> JsonObject:
    """The rules as a file of Prometheus has them, and a PrometheusRule as its `spec`."""
    recorded = [{"record": one.name, "expr": one.expr} for one in RECORDINGS]
    return {"groups": [{"name": GROUP, "rules": [*recorded, *(_rule(one) for one in alerts)]}]}


def table() -> str:
    """The runbooks: a line an alert, with an anchor."""
    head = "| alert | what is so | what to do first |\n|---|---|---|\n"
    return head + "".join(
        f'| <a id="{one.anchor}"></a>`{one.name}` ({one.severity}) | {one.summary} | {one.runbook} |\n'
        for one in ALERTS
    )


def _rule(one: Alert) -> JsonObject:
    held = {"for": f"{one.minutes}m"} if one.minutes else {}
    return {
        "alert": one.name,
        "expr": one.expr,
        **held,
        "labels": {"severity": str(one.severity)},
        "annotations": {"summary": one.summary, "runbook_url": f"{RUNBOOKS}#{one.anchor}"},
    }
