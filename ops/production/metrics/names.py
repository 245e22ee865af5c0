"""All metrics there are: Kueue's and HAMi's under their names, our own under ours, and which of theirs are not exported and why.

This list is a promise: names and labels are added, and not taken away or given another meaning. docs/metrics.md is made of it.
"""

from enum import StrEnum

import msgspec


class Whose(StrEnum):
    """Whose names, labels and units they are."""

    KUEUE = "Kueue"
    HAMI = "HAMi"
    KUELOG = "kuelog"
    CLIENT = "the Python client of Prometheus"


class MetricKind(StrEnum):
    """What may be done with it in a query."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A metric: whose name it is, its labels, what it means, and why it is not exported where it is not."""

    name: str
    whose: Whose
    kind: MetricKind
    labels: tuple[str, ...]
    meaning: str
    why_not: str = ""
    """Why it is not exported; empty where it is."""


ROLE = "replica_role"
"""Kueue puts it on all its metrics; ours are exported by one process of each partition."""
STANDALONE = "standalone"
ZONE = "zone"
"""HAMi's scheduler puts it on all its metrics."""
VGPU = "vGPU"

ATTEMPTS = "kueue_admission_attempt_duration_seconds"
"""The one of Kueue's histograms that begins with the process: how long a service thinks is not on the log."""
_CQ, _PC = "cluster_queue", "priority_class"
_LOCAL_QUEUE = ("name", "namespace")
_CAUSE = ("reason", "underlying_cause")
_AMOUNT = ("cohort", _CQ, "flavor", "resource")
_BUDGET = ("kind", "name", "resource")
"""`ClusterQueue` or `Namespace`, and its name."""
_FOLD = ("service", "partition", "stream")
_BUILD = ("git_version", "git_commit", "build_date", "go_version", "compiler", "platform")
_CARD = ("node", "device_uuid", "device_index", "device_type")
_HOST = ("node", "device_uuid", "device_index", "device_type")
"""Only newer ones say the node."""
_MEASURED = ("namespace", "pod", "container", "vdevice_index", "device_uuid")
_SHARE = ("namespace", "node", "pod", "container_index", "device_uuid")


def _kueue(kind: MetricKind, name: str, labels: tuple[str, ...], meaning: str) -> Named:
    with_role = labels if name == "kueue_build_info" else (*labels, ROLE)
    return Named(name=name, whose=Whose.KUEUE, kind=kind, labels=with_role, meaning=meaning)


def _hami(name: str, labels: tuple[str, ...], meaning: str, why_not: str = "") -> Named:
    zoned = labels if name == "hami_build_info" else (*labels, ZONE)
    full = name if name.startswith("hami_") else f"hami_{name}"
    return Named(name=full, whose=Whose.HAMI, kind=MetricKind.GAUGE, labels=zoned, meaning=meaning, why_not=why_not)


def _ours(name: str, labels: tuple[str, ...], meaning: str, kind: MetricKind = MetricKind.GAUGE) -> Named:
    return Named(name=name, whose=Whose.KUELOG, kind=kind, labels=labels, meaning=meaning)


def _client(kind: MetricKind, name: str, labels: tuple[str, ...], meaning: str) -> Named:
    return Named(name=name, whose=Whose.CLIENT, kind=kind, labels=labels, meaning=meaning)


MONITOR = "HAMi's node monitor goes on exporting it beside kuelog"
"""Why something is not exported that may still be asked for."""
_C, _G, _H = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.HISTOGRAM

# fmt: off
# A row a line, as on the page that is made of it.
KUEUE = (
    _kueue(_C, "kueue_admission_attempts_total", ("result",), "Turns of the admitter that changed anything: success if quota was reserved, else inadmissible"),
    _kueue(_H, ATTEMPTS, ("result",), "How long these turns took, until the log had what was decided; since the process began"),
    _kueue(_G, "kueue_build_info", _BUILD, "1, with the version that runs"),
    _kueue(_G, "kueue_pending_workloads", (_CQ, "status"), "Workloads that wait: active in line, inadmissible until something changes"),
    _kueue(_G, "kueue_pending_scheduling_hashes", (_CQ, "status"), "Classes of workloads among them that ask for the same"),
    _kueue(_G, "kueue_unadmitted_workloads", (_CQ, *_CAUSE), "Workloads that are not admitted, and why"),
    _kueue(_C, "kueue_quota_reserved_workloads_total", (_CQ, _PC), "Reservations of quota"),
    _kueue(_H, "kueue_quota_reserved_wait_time_seconds", (_CQ, _PC), "From creation or return to the queue until quota was reserved"),
    _kueue(_C, "kueue_admitted_workloads_total", (_CQ, _PC), "Admissions"),
    _kueue(_H, "kueue_admission_wait_time_seconds", (_CQ, _PC), "From creation or return to the queue until admission"),
    _kueue(_H, "kueue_admission_checks_wait_time_seconds", (_CQ, _PC), "From reservation until admission, of workloads with admission checks"),
    _kueue(_H, "kueue_ready_wait_time_seconds", (_CQ, _PC), "From creation or return to the queue until all pods were ready, where it is waited for them"),
    _kueue(_H, "kueue_admitted_until_ready_wait_time_seconds", (_CQ, _PC), "From admission until all pods were ready, where it is waited for them"),
    _kueue(_G, "kueue_finished_workloads", (_CQ,), "Finished workloads whose objects are still there"),
    _kueue(_C, "kueue_finished_workloads_total", (_CQ, _PC), "Workloads that have finished"),
    _kueue(_H, "kueue_execution_time_seconds", (_CQ, _PC), "From first admission until the end, evictions included"),
    _kueue(_G, "kueue_reserving_active_workloads", (_CQ,), "Workloads that hold quota"),
    _kueue(_G, "kueue_admitted_active_workloads", (_CQ,), "Workloads that are admitted and have not finished"),
    _kueue(_C, "kueue_evicted_workloads_total", (_CQ, *_CAUSE, _PC), "Evictions of workloads that held quota"),
    _kueue(_C, "kueue_evicted_workloads_once_total", (_CQ, *_CAUSE, _PC), "The same, each workload once for each reason"),
    _kueue(_C, "kueue_preempted_workloads_total", ("preempting_cluster_queue", "reason"), "Workloads that were preempted, by the queue of who preempted"),
    _kueue(_H, "kueue_workload_eviction_latency_seconds", (_CQ, "reason"), "From eviction until the quota was free"),
    _kueue(_H, "kueue_pods_ready_to_evicted_time_seconds", (_CQ, *_CAUSE), "How long the pods of evicted workloads had been ready: work that may be lost"),
    _kueue(_G, "kueue_admission_cycle_preemption_skips", (_CQ,), "Workloads that had victims in the last cycle of their queue, and were skipped because others of the cycle needed the same"),
    _kueue(_C, "kueue_preemption_target_recomputations_total", (_CQ, "result"), "Searches for victims that were repeated in a cycle because others had taken some: new_targets, deferred_fit or skipped"),
    _kueue(_C, "kueue_replaced_workload_slices_total", (_CQ,), "Slices of elastic jobs that were replaced by others"),
    _kueue(_G, "kueue_cluster_queue_status", (_CQ, "status"), "1 for the one of pending, active and terminating that holds, else 0"),
    _kueue(_G, "kueue_cluster_queue_info", (_CQ, "parent_cohort", "root_cohort"), "1, with the cohorts that the queue is in"),
    _kueue(_G, "kueue_cluster_queue_resource_reservation", _AMOUNT, "What workloads hold that have quota"),
    _kueue(_G, "kueue_cluster_queue_resource_usage", _AMOUNT, "What workloads hold that are admitted"),
    _kueue(_G, "kueue_cluster_queue_nominal_quota", _AMOUNT, "What the queue owns"),
    _kueue(_G, "kueue_cluster_queue_borrowing_limit", _AMOUNT, "How much more it may use; +Inf without a limit"),
    _kueue(_G, "kueue_cluster_queue_lending_limit", _AMOUNT, "How much of its own others may use; +Inf without a limit"),
    _kueue(_G, "kueue_cluster_queue_resource_pending", (_CQ, "resource"), "What those who wait ask for together"),
    _kueue(_G, "kueue_cluster_queue_weighted_share", (_CQ, "cohort"), "Its share where sharing is fair, 0 within its own quota; NaN if it borrows at weight 0"),
    _kueue(_G, "kueue_cohort_info", ("cohort", "parent_cohort", "root_cohort"), "1, with the cohorts that the cohort is in"),
    _kueue(_G, "kueue_cohort_subtree_quota", ("cohort", "flavor", "resource"), "What the cohort and all in it own, less what they lend to nobody"),
    _kueue(_G, "kueue_cohort_subtree_resource_reservations", ("cohort", "flavor", "resource"), "What workloads of all its queues hold that have quota"),
    _kueue(_G, "kueue_cohort_subtree_admitted_active_workloads", ("cohort",), "Workloads of all its queues that are admitted and have not finished"),
    _kueue(_C, "kueue_cohort_subtree_admitted_workloads_total", ("cohort", _PC), "Admissions in all its queues"),
    _kueue(_G, "kueue_cohort_weighted_share", ("cohort",), "Its share where sharing is fair; NaN if it borrows at weight 0"),
    _kueue(_H, "kueue_workload_creation_latency_seconds", ("job_kind",), "From the creation of a job until it was reported here"),
    _kueue(_H, "kueue_pod_scheduling_gate_removal_seconds", ("name", _CQ, "is_group"), "From admission until the gate of a pod was seen to be gone, by the name of the gate"),
    _kueue(_C, "multikueue_workloads_dispatched_total", (_CQ, "cluster"), "Workloads sent to other clusters"),
    _kueue(_C, "multikueue_workloads_admitted_total", (_CQ, "cluster"), "Workloads admitted in other clusters"),
    _kueue(_G, "kueue_local_queue_pending_workloads", (*_LOCAL_QUEUE, "status"), "Workloads that wait: active in line, inadmissible until something changes"),
    _kueue(_G, "kueue_local_queue_unadmitted_workloads", (*_LOCAL_QUEUE, _CQ, *_CAUSE), "Workloads that are not admitted, and why"),
    _kueue(_C, "kueue_local_queue_quota_reserved_workloads_total", (*_LOCAL_QUEUE, _PC), "Reservations of quota"),
    _kueue(_H, "kueue_local_queue_quota_reserved_wait_time_seconds", (*_LOCAL_QUEUE, _PC), "From creation or return to the queue until quota was reserved"),
    _kueue(_C, "kueue_local_queue_admitted_workloads_total", (*_LOCAL_QUEUE, _PC), "Admissions"),
    _kueue(_H, "kueue_local_queue_admission_wait_time_seconds", (*_LOCAL_QUEUE, _PC), "From creation or return to the queue until admission"),
    _kueue(_H, "kueue_local_queue_admission_checks_wait_time_seconds", (*_LOCAL_QUEUE, _PC), "From reservation until admission, of workloads with admission checks"),
    _kueue(_H, "kueue_local_queue_ready_wait_time_seconds", (*_LOCAL_QUEUE, _PC), "From creation or return to the queue until all pods were ready, where it is waited for them"),
    _kueue(_H, "kueue_local_queue_admitted_until_ready_wait_time_seconds", (*_LOCAL_QUEUE, _PC), "From admission until all pods were ready, where it is waited for them"),
    _kueue(_G, "kueue_local_queue_finished_workloads", _LOCAL_QUEUE, "Finished workloads whose objects are still there"),
    _kueue(_C, "kueue_local_queue_finished_workloads_total", (*_LOCAL_QUEUE, _PC), "Workloads that have finished"),
    _kueue(_H, "kueue_local_queue_execution_time_seconds", (*_LOCAL_QUEUE, _PC), "From first admission until the end, evictions included"),
    _kueue(_G, "kueue_local_queue_reserving_active_workloads", _LOCAL_QUEUE, "Workloads that hold quota"),
    _kueue(_G, "kueue_local_queue_admitted_active_workloads", _LOCAL_QUEUE, "Workloads that are admitted and have not finished"),
    _kueue(_C, "kueue_local_queue_evicted_workloads_total", (*_LOCAL_QUEUE, *_CAUSE, _PC), "Evictions of workloads that held quota"),
    _kueue(_G, "kueue_local_queue_status", (*_LOCAL_QUEUE, "active"), "1 for the one of True, False and Unknown that holds, else 0"),
    _kueue(_G, "kueue_local_queue_resource_reservation", (*_LOCAL_QUEUE, "flavor", "resource"), "What workloads hold that have quota"),
    _kueue(_G, "kueue_local_queue_resource_usage", (*_LOCAL_QUEUE, "flavor", "resource"), "What workloads hold that are admitted"),
    _kueue(_G, "kueue_local_queue_admission_fair_sharing_usage", (*_LOCAL_QUEUE, _CQ), "Its past usage as one number, where local queues are ordered by it"),
)

HAMI = (
    _hami("gpu_memory_limit_bytes", _CARD, "Memory that a card has"),
    _hami("gpu_core_limit_ratio", _CARD, "Cores of a card in percent"),
    _hami("gpu_shared_count", _CARD, "Containers that share a card"),
    _hami("gpu_core_allocated_ratio", _CARD, "Cores given of a card in percent"),
    _hami("node_gpu_memory_allocated_ratio", _CARD, "Memory given of a card, as a part of what it has, from 0 to 1"),
    _hami("gpu_memory_allocated_bytes", (*_CARD, "device_cores"), "Memory given of a card; the label has all cores of the card in percent"),
    _hami("node_gpu_overview", (*_CARD, "device_cores", "device_memory_limit"), "The same, with the memory of the card in MiB"),
    _hami("node_gpu_mig_instance_info", (*_CARD, "mig_uuid", "profile", "gpu_instance_id", "compute_instance_id", "placement_start", "placement_size"), "1 for each piece of a MIG card that is given; its UUID and ids are known only on the node, and empty here"),
    _hami("vgpu_memory_allocated_bytes", _SHARE, "Memory given to a pod"),
    _hami("vgpu_core_allocated_ratio", _SHARE, "Cores given to a pod in percent of a card"),
    _hami("resource_quota_used", ("namespace", "quota_name", "limit"), "What a namespace uses of a resource whose limit HAMi looks at; the label has the limit, +Inf without one"),
    _hami("resource_quota_limit", ("namespace", "quota_name"), "That limit; +Inf without one"),
    _hami("hami_build_info", ("version", "revision", "build_date", "go_version", "compiler", "platform"), "1, with the version that runs"),
    *(
        _hami(name, labels, "Measured on the node, inside of containers", MONITOR)
        for name, labels in (("host_gpu_memory_used_bytes", _HOST), ("host_gpu_utilization_ratio", _HOST), ("vgpu_memory_used_bytes", _MEASURED), ("vgpu_memory_limit_bytes", _MEASURED))
    ),
    *(
        _hami(name, (), "Measured on the node, inside of containers", MONITOR)
        for name in ("container_device_memory_bytes", "container_device_utilization_ratio", "container_last_kernel_elapsed_seconds", "mig_device_info")
    ),
)

KUELOG = (
    _ours("kuelog_build_info", ("version", "rules", "python"), "1, with the version that runs and the rules under which it decides"),
    _ours("kuelog_card_reserved_bytes", ("node", "device_uuid"), "Memory of a card that the log has reserved"),
    _ours("kuelog_card_state", ("node", "device_uuid", "state"), "1 for the state that a card is in"),
    _ours("kuelog_model_free_bytes", ("model",), "Free memory on sound cards of a model that nobody cordoned, nor their nodes"),
    _ours("kuelog_model_largest_bytes", ("model",), "Free memory on the card of a model that has most"),
    _ours("kuelog_model_stranded_bytes", ("model",), "Free memory on cards without a slot or without cores"),
    _ours("kuelog_flavor_nominal", ("flavor", "resource"), "Quota of a flavor"),
    _ours("kuelog_flavor_offered", ("flavor", "resource"), "What its cards offer"),
    _ours("kuelog_cohort_overbooked", ("cohort", "flavor", "resource"), "What workloads hold beyond all that a cohort without a parent owns with those in it, what they keep to themselves included; 0 where they do not"),
    _ours("kuelog_drift", ("kind",), "Differences between log and cluster, as `kuelog drift` names them"),
    _ours("kuelog_log_bytes", ("stream",), "Bytes that the stream of the log holds which takes in now"),
    _ours("kuelog_log_limit_bytes", ("stream",), "Bytes that it may hold; when they are reached, nothing is admitted"),
    _ours("kuelog_log_last_sequence", ("stream",), "The last sequence of the stream"),
    _ours("kuelog_log_days_until_full", ("stream",), "Days until then, as it has grown since its first message"),
    _ours("kuelog_commits_total", ("partition", "author"), "Commits on the partition of the queues, by author", _C),
    _ours("kuelog_events_total", ("partition", "author", "type"), "Events in these commits", _C),
    _ours("kuelog_preemptions_wasted_total", ("preempting_cluster_queue", "reason"), "Workloads that were preempted for one that went without quota", _C),
    _ours("kuelog_budget_used", _BUDGET, "What is used of a budget since its period began: hours of the resource (CPU in cores), or money where it is a currency"),
    _ours("kuelog_budget_limit", _BUDGET, "What may be used in the period, in the same units: its limit, what was carried over and what was approved of"),
    _ours("kuelog_budget_users_spent", _BUDGET, "Users of a budget whose share of it is used up"),
    _ours("kuelog_folded_sequence", _FOLD, "How far a service has folded a stream"),
    _ours("kuelog_fold_lag_messages", _FOLD, "Messages of the stream that it has not folded"),
    _ours("kuelog_fold_lag_seconds", _FOLD, "How long ago the oldest of them was stored, by the clock of the bus; 0 where there is none"),
    _ours("kuelog_appends_total", ("partition", "author", "result"), "Appends since the process began: ok, conflict (another author was first), full, unavailable or regressed", _C),
    _ours("kuelog_append_seconds", ("partition",), "How long the bus took to answer them", _H),
    _ours("kuelog_turn_seconds", ("partition", "author", "result"), "How long the turns of a decider took since the process began, until the log had what was decided: decided, or nothing", _H),
    _ours("kuelog_watch_lists_total", ("kind", "reason"), "How often all objects of a kind were listed since the process began: start, expired (more had changed than the API server still knew) or broken", _C),
    _ours("kuelog_watch_last_event_timestamp_seconds", ("kind",), "When anything was last heard of a kind, be it that nothing has changed, in seconds since 1970; told by the replica that watches"),
    _ours("kuelog_apply_lag_seconds", ("partition",), "How long the oldest decision of the partition that starts or stops something has not been written to the cluster, counted from when this process took it up (after a start: from when it had found it on the log); 0 where there is none, and where another replica writes"),
    _ours("kuelog_unapplied_decisions", ("partition", "priority"), "Workloads whose decisions are not written yet: urgent, or low where only a status is to be shown"),
    _ours("kuelog_applied_total", ("partition", "result"), "Decisions that were applied to the cluster, or that it rejected, since the process began", _C),
    _ours("kuelog_outbox_messages", ("service",), "Facts that a service has not stored yet"),
    _ours("kuelog_outbox_lag_seconds", ("service",), "How long the oldest of them has waited; 0 where there is none"),
    _ours("kuelog_clock_skew_seconds", (), "How far the clock of the machine is ahead of the bus's; negative behind it"),
    _ours("kuelog_checkpoint_handed_out_timestamp_seconds", ("place",), "When checkpoints were last handed out to a place, in seconds since 1970; 0 before the first time"),
    _ours("kuelog_checkpoint_outstanding", ("place",), "1 while a place has not taken the checkpoints that it was to be handed, else 0"),
    _ours("kuelog_site_connected", ("site",), "1 while a site whose log is copied here is connected, else 0"),
    _ours("kuelog_site_behind_messages", ("site", "stream"), "Messages of a site that are not copied yet; not told while it is not connected"),
    _ours("kuelog_site_silent_seconds", ("site",), "How long ago the copy heard of its site; not told before the first time"),
    _ours("kuelog_certificate_expires_timestamp_seconds", ("service",), "When the certificate expires that the webhook or the visibility API shows, in seconds since 1970; 0 while there is none"),
    _ours("kuelog_certificate_not_renewed", ("service",), "1 while the certificate that it should show now can't be had or read, else 0"),
    _ours("kuelog_witness_timestamp_seconds", (), "When the witness of the process last took note of all streams, in seconds since 1970; 0 before the first time"),
    _ours("kuelog_replay_verified_total", ("partition",), "Commits that the verifier has decided again since it began", _C),
    _ours("kuelog_replay_differences", ("partition", "what"), "Commits among them that came out otherwise: decision, or state where they name another one than the log leads to"),
    _ours("kuelog_replay_other_rules", ("partition",), "Commits of other rules, which the verifier has folded and not decided again"),
    _ours("kuelog_replay_verified_timestamp_seconds", ("partition",), "When the verifier was last seen at the end of the log, in seconds since 1970; 0 before the first time"),
    _ours("kuelog_oldest_pending_seconds", (_CQ,), "How long ago the workload was created that has waited longest; 0 where none waits"),
    _ours("kuelog_partition_halted", ("partition", "reason"), "1 for each reason that halts a partition, else 0"),
    _ours("kuelog_lease_held", ("lease",), "1 while the process holds a lease, 0 while it waits for another's"),
    _ours("kuelog_lease_taken_total", ("lease",), "How often the process has taken a lease since it began", _C),
    _ours("kuelog_lease_given_back_total", ("lease",), "How often the process has given a lease back because it was another replica's share or it could not go on itself", _C),
    _ours("kuelog_lease_standbys", ("lease",), "How many other replicas would take a lease, as this process last saw them"),
    _ours("kuelog_failing", ("partition", "who"), "1 for who fails while the others go on"),
    _ours("kuelog_set_aside", ("service", "scope"), "What is left alone, by who failed on it"),
    _ours("kuelog_amiss_messages", ("stream", "what", "author"), "Messages that are not as they must be"),
    _ours("kuelog_quarantined_messages", ("stream",), "Messages that an operator had skipped"),
    _ours("kuelog_preemption_loops", ("partition",), "Workloads that preempt and are preempted again and again, or preempt the same one in vain; two that preempt each other count once"),
    _ours("kuelog_given_back_messages", ("stream",), "Messages that the bus had lost and got again"),
    _ours("kuelog_ignored_messages", ("stream",), "Words of control that do not count"),
)

CLIENT = (
    _client(_G, "process_virtual_memory_bytes", (), "Virtual memory of the process"),
    _client(_G, "process_resident_memory_bytes", (), "Memory of the process that is in use"),
    _client(_G, "process_start_time_seconds", (), "When the process began, in seconds since 1970"),
    _client(_C, "process_cpu_seconds_total", (), "CPU time of the process"),
    _client(_G, "process_open_fds", (), "Files and connections that it has open"),
    _client(_G, "process_max_fds", (), "How many it may have open"),
    _client(_C, "python_gc_objects_collected_total", ("generation",), "Objects that the collector of garbage has removed"),
    _client(_C, "python_gc_objects_uncollectable_total", ("generation",), "Objects that it could not remove"),
    _client(_C, "python_gc_collections_total", ("generation",), "How often it has looked"),
    _client(_G, "python_info", ("version", "implementation", "major", "minor", "patchlevel"), "1, with the version of Python"),
)
# fmt: on

ALL = (*KUEUE, *HAMI, *KUELOG, *CLIENT)
BY_NAME = {one.name: one for one in ALL}
EXPORTED = tuple(one for one in ALL if not one.why_not)
