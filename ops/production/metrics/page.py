"""docs/metrics.md: the list of names as one page for people."""

from collections.abc import Iterable, Sequence

from ops.production.metrics.names import CLIENT, HAMI, KUELOG, KUEUE, ROLE, ZONE, Named

_HEAD = """# Metrics

`kuelog up --metrics PORT` and `kuelog run SERVICE --metrics PORT` serve `/metrics` in the text form of Prometheus, or as OpenMetrics for
whoever asks for it by `Accept`. Boards and alerts made for Kueue and for HAMi's scheduler find their names, labels and units here.
This page is made by `python -m ops.production.metrics`; names and labels are added, and not taken away.

* **Queues** (`kueue_*`) are exported by the process in which the queue manager runs, **cards** (`hami_*`, and ours about cards) by that of
  the accountant, halts, failures, appends and what lags behind by every process, each its own. `kuelog up` is all of them. Two replicas export the same figures:
  take `max by (…)` of a gauge or counter over them, not `sum`.
* **503** until everything is folded that was on the log at the start: figures of half a log would look like a rush when the rest
  follows. A process that has halted by then exports what it has, without counters that are not complete.
* `+Inf` is no limit, `NaN` the share of a queue of weight 0 that borrows. CPU is in cores, memory in bytes as it was asked for, and
  what HAMi counts in MiB (`nvidia.com/gpumem`) in the units of its resource.
* Let Prometheus keep the labels: metrics of local queues and pods have a `namespace` of their own, which becomes
  `exported_namespace` without `honorLabels: true`. PodMonitor and ServiceMonitor of the chart (`podMonitor: true`,
  `serviceMonitor: true`) say so.
* No label names a workload, a pod or a user, but for HAMi's of pods. A scrape costs as much as who waits and runs: it looks at each once.

## <a id="counters"></a>Counters

Counters and histograms are folded from the log, with the times that stand there, and kept beside the worlds of the services: they are
the same after every restart, and in every replica. Kueue's begin at 0 with each start. Every five minutes they are saved on
the shelf of the bus (as the worlds are, [decision 21](decisions/0021-streams-roll-into-archives.md)), with the place and hash of the
last commit in them, and counting goes on from there. Without anything saved the log is counted from its beginning. Where that was
rolled, workloads are taken from a saved world, and counters begin there; what was saved before then stays, and what happened between
is missing.

A fact counts as soon as it is read. Its place among the decisions is fixed by the next of them, so in rare cases it turns out to count
otherwise. An exported count never gets smaller then, and is right again with the next ones.

<a id="queues-gone"></a>The series of a cluster queue or local queue go with it, as under Kueue; those of one of its name that comes later begin at 0.
Of its workloads, which may go on after it, nothing is counted under its name until then. What was counted of a cohort goes with its Cohort, and begins at 0 where
queues still name it.
Only `kueue_unadmitted_workloads` names a cluster queue that is not there, for as long as a local queue that somebody waits in leads to it.

<a id="divided"></a>On a [divided log](scale.md) each partition counts what it decides, and a process exports the sum over those that it folds; `kuelog_commits_total`
and `kuelog_events_total` name each. A workload counts in the partition that decided about it first; of one that was never decided about, nothing
counts. A tree that moves is counted on by the partition that it moves into; the ends of jobs that are told to both within the seconds of the
move count in both. Where processes fold some partitions each, a queue is told by those that fold its own: `max by (cluster_queue, …)` over
all of them is right until its tree has moved, and from then on the sum over partitions is.

`kuelog_appends_total`, `kuelog_append_seconds`, `kuelog_applied_total`, `kuelog_turn_seconds`, `kuelog_watch_lists_total` and
`kueue_admission_attempt_duration_seconds` are not on the log and begin with each process; `kuelog_commits_total`, `kuelog_events_total`,
`kueue_preemption_target_recomputations_total` and `kuelog_preemptions_wasted_total` begin where counting was saved by a version that did not have them yet.

<a id="gates"></a>A gate of a pod is gone when the watcher sees it to be, which is a moment after the applier has taken it away. Of pods that had waited
at a gate when counting began in a saved world nothing is told, but for those at the gate of their workload.

<a id="wasted"></a>A preemption is wasted when who it was ordered for goes without quota: it ends, is removed, stopped or deactivated, or the
room that was kept for it is kept no longer, before it gets any. It counts at that moment, under the queue and the rule for which
`kueue_preempted_workloads_total` counted it. Of who still waits nothing is known yet.

<a id="skips"></a>Each queue has one head in a cycle, so `kueue_admission_cycle_preemption_skips` is 0 or 1: 1 while the head that was tried last had
victims, and was skipped because entries before it in the cycle took one of them or the room ([rule](rules/cycle.md#same-victims)).
It is 0 again when the queue's next head is tried with another outcome, or that workload has left the line.

For how long cards were idle is told by `kuelog bill`, and when who waits is expected to start by `kuelog top`; neither is a metric yet.

Histograms have Kueue's buckets, so that `histogram_quantile` over clusters of both is right. Those of waits and of execution have as
exemplar of each bucket the workload that was counted there last (`workload_uid`), and its trace where [traces](traces.md) are exported
(`trace_id`), for whoever fetches OpenMetrics. Prometheus stores exemplars with `--enable-feature=exemplar-storage`.

"""

_DIFFERENCES = """
## <a id="custom-labels"></a>Labels of one's own

With the feature gate `CustomMetricLabels` the metrics of a ClusterQueue, LocalQueue or Cohort bear labels or annotations of it as well:

```yaml
featureGates: {CustomMetricLabels: true}
metrics:
  customLabels:
  - name: team                                       # custom_team, from the label team of ClusterQueues
  - name: cost_center
    sourceKind: LocalQueue                           # or ClusterQueue, Cohort
    sourceAnnotationKey: billing.example.com/center  # or sourceLabelKey
    trackedValues: [research, production]            # others become kueue.x-k8s.io/_UNTRACKED_VALUE_
```

Metrics with `cluster_queue` (or `preempting_cluster_queue`) bear those of the ClusterQueue, metrics with `name` and `namespace` of a local
queue those of the LocalQueue, and metrics of cohorts those of the Cohort. An object without the label, or that is gone, has the empty value.
What the labels of an object say is on the log; when they change, its series go on under the new value. There are at most 20 such labels, 6
of each kind, and 16 tracked values of each.

## <a id="local-queues"></a>Of which local queues

Metrics of local queues (`kueue_local_queue_…`) are exported of all of them. A configuration may choose, by the labels of LocalQueues, or have none:

```yaml
metrics:
  localQueueMetrics:
    enable: true                                     # without it, or with the feature gate LocalQueueMetrics off, of none
    localQueueSelector: {matchLabels: {team: research}}
```

Which ones are left out is on the log; when labels change, series come and go, and counters go on where they were.

## <a id="differences"></a>Differences from Kueue

* `kueue_admission_attempts_total` counts turns of the admitter that changed something. A turn in which everybody waits on as before leaves
  nothing on the log, and Kueue counts such cycles as inadmissible. In the same way `kueue_preemption_target_recomputations_total` counts a
  repeated search once while it comes out the same cycle after cycle, and one of a workload that is parked with others that ask for the same,
  and is tried for them, only if it comes to anything.
* `kueue_unadmitted_workloads` has more causes: `ExceedsCardCapacity`, `BudgetExhausted`, and `Backoff`, `WaitingForReplacementPods` and `NodeFailures` of
  who was evicted and must wait. A workload that has quota and waits for its cards is one of `UnsatisfiedAdmissionChecks`. Who is set beside the line with
  others that ask for the same has their cause; Kueue leaves such a one at the cause that it had before.
* A workload that waits and whose object is being deleted is one of `kueue_unadmitted_workloads` until it is gone.
* `kueue_evicted_workloads_total`, its like and the times of evictions have more reasons, each for an eviction that Kueue does not have or does not count as one:
  `NoMatchingWorkload` (the job asks for other pods), `WorkloadDeleted`, `BudgetExhausted`, `DevicesRefused` and, of who moves to a better flavor, `FlavorMigration`.
* `kueue_pods_ready_to_evicted_time_seconds` is told also where nobody waits for pods to be ready.
* Who finishes without ever having had quota counts in `kueue_finished_workloads_total` under the queues that it waited in. Kueue leaves its cluster queue empty, and does
  not count it in its local queue.
* `kueue_evicted_workloads_once_total` has the label `underlying_cause`, and CPU of cohorts is in cores, as in later versions; in Kueue 0.17 the label is
  `detailed_reason` and cohorts have thousandths of a core.
* `kueue_finished_workloads_total` counts jobs: a slice of an elastic job that another one replaces has not finished, and counts in
  `kueue_replaced_workload_slices_total`. Kueue 0.17 counts it as finished.
* `multikueue_*` tell nothing of who is tried on several flavors at once (`ConcurrentAdmission`): its variants are sent to other clusters, and variants have no metrics.
* The times until pods are ready are taken of every workload that is waited for, Kueue takes them of jobs alone and not of Workloads of no job.
* Counters of local queues that are stopped stay, as nothing that happened is taken back; Kueue begins them anew.
* `replica_role` always says `standalone`: nobody leads, whoever writes first decides.
* The quota of cohorts and the five metrics of cluster queues that Kueue exports only with `enableClusterQueueResources` are always exported.
* Time in the `kueue_execution_time_seconds` of a workload that was taken over, or of one that ran when counting began in a saved world, begins
  with its last admission.
* Of labels of one's own, those of Workloads are not offered.

Some names are asked for that Kueue never had: for `kueue_cluster_queue_usage` take
`kueue_cluster_queue_resource_usage / kueue_cluster_queue_nominal_quota`, for `kueue_admission_duration_seconds` take
`kueue_admission_wait_time_seconds`, which is how long a workload waited.
"""


def page() -> str:
    """The text of docs/metrics.md."""
    return "".join(
        (
            _HEAD,
            _section("Kueue's", f"All but `kueue_build_info` also have `{ROLE}`.", KUEUE, ROLE),
            _section("HAMi's scheduler's", f'All but `hami_build_info` also have `{ZONE}="vGPU"`.', HAMI, ZONE),
            _section("Our own", "", KUELOG, ""),
            _section("The process's", "Each process tells its own, in the names of the client library.", CLIENT, ""),
            _DIFFERENCES,
        )
    )


def _section(whose: str, note: str, names: Sequence[Named], always: str) -> str:
    told = [one for one in names if not one.why_not]
    rows = [f"| `{one.name}` | {one.kind} | {_labels(one, always)} | {one.meaning} |" for one in told]
    text = f"## {whose}\n\n" + (f"{note}\n\n" if note else "")
    text += _table("| name | type | labels | meaning |", rows)
    left = [f"| `{one.name}` | {one.meaning} | {one.why_not} |" for one in names if one.why_not]
    return text + ("\nNot exported:\n\n" + _table("| name | meaning | why not |", left) if left else "") + "\n"


def _table(head: str, rows: Iterable[str]) -> str:
    line = "|".join("---" for _ in range(head.count("|") - 1))
    return "\n".join((head, f"|{line}|", *rows)) + "\n"


def _labels(one: Named, always: str) -> str:
    return ", ".join(f"`{label}`" for label in one.labels if label != always)
