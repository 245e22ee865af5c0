"""Alerts name what is exported, have a runbook, and fire when they should: the last by promtool, where it is in PATH."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ops.production.metrics.__main__ import OPERATIONS, with_runbooks
from ops.production.metrics.alert_rules import ALERTS, RECORDINGS, RUNBOOKS, rules
from ops.production.metrics.names import BY_NAME
from tests.ops.production.metrics.promql import metrics, wrong

PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not in PATH: in Debian it is in the package prometheus"
)
RECORDED = {one.name: one.labels for one in RECORDINGS}
NAMES = [one.name for one in ALERTS]
END, LONG = 200, 240
"""Minutes: when it is looked, and how long series are."""

Series = dict[str, str]


def at(value: float) -> str:
    """A series that stays."""
    return f"{value}x{LONG}"


def up(step: float) -> str:
    """A series that grows by so much a minute."""
    return f"0+{step}x{LONG}"


def late(value: float) -> str:
    """A series that begins half an hour before it is looked at."""
    return f"_x{END - 30} {value}x60"


def waits(name: str, over: float, labels: str = 'cluster_queue="q"', bound: str = "40960") -> Series:
    """A histogram in which so much of a minute's ten falls above a bound."""
    return {
        f'{name}_bucket{{{labels},le="1"}}': up(10 - over),
        f'{name}_bucket{{{labels},le="{bound}"}}': up(10),
        f'{name}_bucket{{{labels},le="+Inf"}}': up(10),
    }


def halted(reason: str) -> tuple[Series, Series]:
    series = f'kuelog_partition_halted{{partition="LOG_0",reason="{reason}"}}'
    return {series: at(1)}, {series: at(0)}


def level(series: str, fires: float, quiet: float) -> tuple[Series, Series]:
    return {series: at(fires)}, {series: at(quiet)}


def grew(series: str) -> tuple[Series, Series]:
    return {series: late(1)}, {series: at(1)}


USED = 'kueue_cluster_queue_resource_usage{cohort="c",cluster_queue="q",flavor="f",resource="cpu"}'
OWNED = 'kueue_cluster_queue_nominal_quota{cohort="c",cluster_queue="q",flavor="f",resource="cpu"}'
PENDING = 'kueue_pending_workloads{cluster_queue="q",status="active"}'
LAG = '{service="admitter",partition="LOG_0",stream="FACTS",instance="a"}'
OK = 'kuelog_appends_total{partition="LOG_0",author="admitter",result="ok"}'
CONFLICT = 'kuelog_appends_total{partition="LOG_0",author="admitter",result="conflict"}'
BYTES, LIMIT = 'kuelog_log_bytes{stream="LOG_0"}', 'kuelog_log_limit_bytes{stream="LOG_0"}'
DAYS = 'kuelog_log_days_until_full{stream="LOG_0"}'
EVICTED = 'kueue_evicted_workloads_total{cluster_queue="q",reason="Preempted",underlying_cause="",priority_class=""}'
ADMITTED = 'kueue_admitted_workloads_total{cluster_queue="q",priority_class=""}'
CARD = '{node="n",device_uuid="u",device_index="0",device_type="t"}'
COHORT = '{cohort="c",flavor="f",resource="cpu"}'
PREEMPTED = 'kueue_preempted_workloads_total{preempting_cluster_queue="q",reason="InClusterQueue"}'
WASTED = 'kuelog_preemptions_wasted_total{preempting_cluster_queue="q",reason="InClusterQueue"}'
SPENT = 'kuelog_budget_used{kind="ClusterQueue",name="q",resource="EUR"}'
ALLOWED = 'kuelog_budget_limit{kind="ClusterQueue",name="q",resource="EUR"}'
APPLIED = 'kuelog_applied_total{{partition="LOG_{}",result="{}"}}'
WAIT, EVICTION = "kueue_admission_wait_time_seconds", "kueue_workload_eviction_latency_seconds"
CHECKS = "kueue_admission_checks_wait_time_seconds"

OF_TREES = ("queue-manager", "admitter", "preemptor", "applier")


def folds(service: str, stream: str, partition: str = "") -> Series:
    labels = f'service="{service}",partition="{partition or stream}",stream="{stream}",instance="{service}"'
    return {f"kuelog_folded_sequence{{{labels}}}": up(1)}


def serving(*trees: str) -> Series:
    """What is exported where these partitions are served by all who have to, and the whole log by its two."""
    found = {'kuelog_outbox_messages{service="watcher",instance="watcher"}': at(0)}
    for stream in trees:
        found |= folds("accountant", stream, "DEVICES_default")
        for service in OF_TREES:
            found |= folds(service, stream)
    return found


def without(service: str, stream: str = "") -> Series:
    """The same without one of them, on two partitions."""
    gone = (f'service="{service}"', f'stream="{stream}"' if stream else "")
    return {
        series: told for series, told in serving("LOG_0", "LOG_1").items() if not all(one in series for one in gone)
    }


CASES: dict[str, tuple[Series, Series]] = {
    "KuelogDown": ({}, {'kuelog_build_info{version="1"}': at(1)}),
    "KuelogServiceAway": (without("admitter", "LOG_1"), serving("LOG_0", "LOG_1")),
    "KuelogLogRegressed": halted("witness"),
    "KuelogPartitionHalted": halted("message"),
    "KuelogBusAway": halted("bus"),
    "KuelogClockWrong": halted("clock"),
    "KuelogClockSkew": level('kuelog_clock_skew_seconds{instance="a"}', -3, 1),
    "KuelogFailing": level('kuelog_failing{partition="LOG_0",who="preemptor"}', 1, 0),
    "KuelogTreeSetAside": level('kuelog_set_aside{service="admitter",scope="tree"}', 1, 0),
    "KuelogSetAside": level('kuelog_set_aside{service="admitter",scope="workload"}', 1, 0),
    "KuelogFoldLagging": level(f"kuelog_fold_lag_seconds{LAG}", 31, 30),
    "KuelogFoldStuck": (
        {f"kuelog_fold_lag_messages{LAG}": at(1), f"kuelog_folded_sequence{LAG}": at(9)},
        {f"kuelog_fold_lag_messages{LAG}": at(1), f"kuelog_folded_sequence{LAG}": up(1)},
    ),
    "KuelogAppendConflicts": ({OK: up(4), CONFLICT: up(6)}, {OK: up(6), CONFLICT: up(4)}),
    "KuelogAppendSlow": (
        waits("kuelog_append_seconds", 5, 'partition="LOG_0"'),
        waits("kuelog_append_seconds", 0, 'partition="LOG_0"', "0.1")
        | waits("kuelog_append_seconds", 0, 'partition="LOG_0"', "0.2"),
    ),
    "KuelogAppendFails": ({OK.replace("ok", "full"): up(1)}, {OK: up(1), CONFLICT: up(1)}),
    "KuelogApplyLagging": level('kuelog_apply_lag_seconds{partition="LOG_1",instance="a"}', 61, 60),
    "KuelogApplyRejected": (
        {APPLIED.format(partition, "rejected"): up(0.25) for partition in range(2)},
        {APPLIED.format(0, "rejected"): up(0.1), APPLIED.format(0, "applied"): up(9)},
    ),
    "KuelogOutboxLagging": level('kuelog_outbox_lag_seconds{service="watcher"}', 31, 30),
    "KuelogStreamFilling": ({BYTES: at(81), LIMIT: at(100)}, {BYTES: at(80), LIMIT: at(100)}),
    "KuelogStreamFullSoon": (
        {BYTES: at(51), LIMIT: at(100), DAYS: at(0.5)},
        {BYTES: at(20), LIMIT: at(100), DAYS: at(0.5)},
    ),
    "KuelogCheckpointNotHandedOut": level('kuelog_checkpoint_outstanding{place="p"}', 1, 0),
    "KuelogCertificateExpires": level(
        'kuelog_certificate_expires_timestamp_seconds{service="webhook",instance="a"}',
        END * 60 + 200_000,
        END * 60 + 300_000,
    ),
    "KuelogCertificateNotRenewed": level('kuelog_certificate_not_renewed{service="webhook",instance="a"}', 1, 0),
    "KuelogWitnessOld": level("kuelog_witness_timestamp_seconds", END * 60 - 1000, END * 60 - 100),
    "KuelogSiteAway": level('kuelog_site_connected{site="east"}', 0, 1),
    "KuelogSiteBehind": level('kuelog_site_behind_messages{site="east",stream="LOG_0"}', 1, 0),
    "KuelogReplayDiffers": level('kuelog_replay_differences{partition="LOG_0",what="decision"}', 1, 0),
    "KuelogReplayBehind": level(
        'kuelog_replay_verified_timestamp_seconds{partition="LOG_0"}', END * 60 - 5000, END * 60 - 3000
    ),
    "KuelogAmiss": grew('kuelog_amiss_messages{stream="FACTS",what="author",author="applier"}'),
    "KuelogQuarantined": grew('kuelog_quarantined_messages{stream="FACTS"}'),
    "KuelogGivenBack": grew('kuelog_given_back_messages{stream="FACTS"}'),
    "KuelogControlIgnored": level('kuelog_ignored_messages{stream="CONTROL"}', 1, 0),
    "KuelogPreemptionLoop": level('kuelog_preemption_loops{partition="LOG_0"}', 1, 0),
    "KuelogPreemptionWasted": (
        {PREEMPTED: up(1), WASTED: up(0.06)},
        {PREEMPTED: up(1), WASTED: up(0.04)},
    ),
    "KuelogBudgetNearlySpent": ({SPENT: at(91), ALLOWED: at(100)}, {SPENT: at(90), ALLOWED: at(100)}),
    "KuelogBudgetSpent": ({SPENT: at(100), ALLOWED: at(100)}, {SPENT: at(99), ALLOWED: at(100)}),
    "KuelogWatchSilent": level(
        'kuelog_watch_last_event_timestamp_seconds{kind="Job",instance="a"}', END * 60 - 1600, END * 60 - 800
    ),
    "KuelogRelistStorm": (
        {'kuelog_watch_lists_total{kind="Job",reason="expired"}': up(1)},
        {'kuelog_watch_lists_total{kind="Job",reason="broken"}': up(1)},
    ),
    "KueueAttemptSlow": (
        waits("kueue_admission_attempt_duration_seconds", 5, 'result="success"', "10"),
        waits("kueue_admission_attempt_duration_seconds", 0, 'result="success"', "10"),
    ),
    "KueuePendingMany": (
        {PENDING: at(101)},
        {PENDING.replace("}", f',instance="{one}"}}'): at(60) for one in "ab"},
    ),
    "KueueQueueNearlyFull": ({USED: at(95), OWNED: at(100)}, {USED: at(90), OWNED: at(100)}),
    "KueueWaitLong": (waits(WAIT, 5), waits(WAIT, 0)),
    "KuelogOldestWaits": level('kuelog_oldest_pending_seconds{cluster_queue="q"}', 86_401, 86_400),
    "KueueIdleButWaiting": (
        {PENDING: at(1), USED: at(10), OWNED: at(100)},
        {PENDING: at(0), USED: at(10), OWNED: at(100)},
    ),
    "KueueMisconfigured": level(
        'kueue_unadmitted_workloads{cluster_queue="q",reason="NoReservation",underlying_cause="Misconfigured"}', 1, 0
    ),
    "KueueNeverFits": level(
        'kueue_unadmitted_workloads{cluster_queue="q",reason="NoReservation",underlying_cause="ExceedsMaxQuota"}', 1, 0
    ),
    "KueueQueueInactive": level('kueue_cluster_queue_status{cluster_queue="q",status="pending"}', 1, 0),
    "KueueEvictionsMany": ({EVICTED: up(1), ADMITTED: up(2)}, {EVICTED: up(1), ADMITTED: up(4)}),
    "KueueEvictionSlow": (
        waits(EVICTION, 5, 'cluster_queue="q",reason="Preempted"'),
        waits(EVICTION, 0, 'cluster_queue="q",reason="Preempted"'),
    ),
    "KueueChecksSlow": (waits(CHECKS, 5), waits(CHECKS, 0)),
    "KueueOverbooked": level(f"kuelog_cohort_overbooked{COHORT}", 1, 0),
    "KuelogCardsOut": (
        {'kuelog_card_state{node="n",device_uuid="u",state="unhealthy"}': at(1)},
        {'kuelog_card_state{node="n",device_uuid="u",state="cordoned"}': at(1)},
    ),
    "KuelogCardOverfull": level('kuelog_drift{kind="Overfull"}', 1, 0),
    "KuelogDrift": level('kuelog_drift{kind="Stale"}', 1, 0),
    "KuelogMemoryStranded": (
        {'kuelog_model_stranded_bytes{model="m"}': at(4), 'kuelog_model_free_bytes{model="m"}': at(10)},
        {'kuelog_model_stranded_bytes{model="m"}': at(3), 'kuelog_model_free_bytes{model="m"}': at(10)},
    ),
    "KuelogQuotaAboveCards": (
        {
            'kuelog_flavor_nominal{flavor="f",resource="r"}': at(9),
            'kuelog_flavor_offered{flavor="f",resource="r"}': at(8),
        },
        {
            'kuelog_flavor_nominal{flavor="f",resource="r"}': at(8),
            'kuelog_flavor_offered{flavor="f",resource="r"}': at(8),
        },
    ),
    "HamiCardOverallocated": (
        {f"hami_gpu_memory_allocated_bytes{CARD}": at(9), f"hami_gpu_memory_limit_bytes{CARD}": at(8)},
        {f"hami_gpu_memory_allocated_bytes{CARD}": at(8), f"hami_gpu_memory_limit_bytes{CARD}": at(8)},
    ),
}
"""Of each alert what makes it fire, and what is just not enough."""


def promtool(*words: str | Path) -> str:
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, timeout=200, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def written(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(value, sort_keys=False))
    return path


def one_test(name: str, series: Series, *, fires: bool) -> dict[str, object]:
    """A unit test of promtool's: whether an alert of that name fires at the end."""
    expr = f'count(ALERTS{{alertname="{name}",alertstate="firing"}})'
    expected = [{"labels": "{}", "value": 1}] if fires else []
    return {
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "promql_expr_test": [{"expr": expr, "eval_time": f"{END}m", "exp_samples": expected}],
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_alert_names_only_metrics_that_are_exported_and_labels_that_they_have(name: str) -> None:
    [alert] = [one for one in ALERTS if one.name == name]
    assert wrong(alert.expr, RECORDED) == []
    used = [re.sub("_bucket$", "", one) for one, _ in metrics(alert.expr)]
    assert used
    assert all(one in RECORDED or not BY_NAME[one].why_not for one in used), "it could never fire"


def test_a_recorded_expression_names_only_metrics_and_labels_that_there_are() -> None:
    assert [wrong(one.expr, {}) for one in RECORDINGS] == [[]]


def test_a_metric_and_a_label_that_there_is_not_are_found() -> None:
    assert wrong("sum by (lane) (kuelog_appends_total)", {}) == ["kuelog_appends_total has no label lane"]
    assert wrong('kuelog_drift{sort="x"} > 0', {}) == ["kuelog_drift has no label sort"]
    assert wrong("rate(kuelog_append_seconds[5m])", {}) == ["no metric kuelog_append_seconds"]
    assert wrong("kueue_pending_workloads or f(kuelog_drift and on (kind) kuelog_drift) or time()", {}) == []
    assert wrong("kuelog_drift and on (kind) kueue_pending_workloads", {}) == [
        "kueue_pending_workloads has no label kind"
    ]
    assert wrong("kueue_turns and on (x) kuelog_drift", {}) == ["no metric kueue_turns", "kuelog_drift has no label x"]


def test_each_alert_has_one_name_a_case_here_and_a_line_in_the_runbooks() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert set(CASES) == set(NAMES)
    text = OPERATIONS.read_text()
    assert text == with_runbooks(text), "run python -m ops.production.metrics"
    [group] = rules()["groups"]
    for rule in group["rules"][len(RECORDINGS) :]:
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert page == RUNBOOKS
        assert f'<a id="{anchor}"></a>' in text


@needs_promtool
@pytest.mark.parametrize("service", [*OF_TREES, "accountant", "watcher"])
def test_a_service_that_runs_nowhere_is_named_though_all_that_it_told_is_gone_with_it(
    tmp_path: Path, service: str
) -> None:
    [alert] = [one for one in ALERTS if one.name == "KuelogServiceAway"]
    expected = [
        {"labels": f'{{service="{service}"' + (f', stream="{one}"}}' if one else "}"), "value": 1}
        for one in (("LOG_0", "LOG_1") if service in OF_TREES else ("",))
    ]
    story = {
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in without(service).items()],
        "promql_expr_test": [{"expr": alert.expr, "eval_time": f"{END}m", "exp_samples": expected}],
    }
    path = written(tmp_path, "away-test.yaml", {"evaluation_interval": "1m", "tests": [story]})
    assert promtool("test", "rules", path) == ""


@needs_promtool
def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    assert promtool("check", "rules", written(tmp_path, "rules.yaml", rules())) == ""


@needs_promtool
def test_each_alert_fires_when_it_should_and_not_a_step_before(tmp_path: Path) -> None:
    files: list[Path] = []
    for alert in ALERTS:
        firing, quiet = CASES[alert.name]
        alone = written(tmp_path, f"{alert.name}-rules.yaml", rules([alert]))
        tests = [one_test(alert.name, firing, fires=True), one_test(alert.name, quiet, fires=False)]
        whole = {"rule_files": [alone.name], "evaluation_interval": "1m", "tests": tests}
        files.append(written(tmp_path, f"{alert.name}-test.yaml", whole))
    assert promtool("test", "rules", *files) == ""
