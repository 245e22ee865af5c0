"""What is told is what the list of names promises, to the label, and docs/metrics.md is that list."""

import subprocess
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace
from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest as as_text
from prometheus_client.openmetrics.exposition import generate_latest as as_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from events.admission import PreemptionRequested, QuotaReserved, Recomputation
from events.budget import Budget, BudgetLimits, BudgetPeriod
from events.card import Card, CardShare, MigInstance
from events.device import CardQuotaObserved, DevicesRegistered, PodObserved
from events.multikueue import ClusterChosen, ClustersNominated
from events.quota import (
    AdmissionCheckObserved,
    AdmissionMode,
    CheckRule,
    ClusterQueueObserved,
    CohortObserved,
    LocalQueueObserved,
    PreemptionPolicy,
    PriorityClassObserved,
    StopPolicy,
    Weight,
)
from events.settings import AdmissionFairSharing, PodsReadyRule, SettingsObserved
from events.slices import WorkloadSliceReplaced
from events.topology import PodTopology
from events.workload import CheckReported, CheckState, CheckStatus, PodsReady, WorkloadDeleted, WorkloadFinished
from ops.production.fold_positions import FoldPosition, FoldPositions
from ops.production.listeners.certificate import Certificate
from ops.production.log.jetstream.capacity import CapacityMetrics, StreamFill
from ops.production.log.jetstream.copies import CopyState, SiteState
from ops.production.log.site_copies import SiteCopies
from ops.production.log.streams import PARTITION
from ops.production.metrics.__main__ import PAGE
from ops.production.metrics.alarms import AlarmMetrics
from ops.production.metrics.budgets import BudgetMetrics
from ops.production.metrics.builds import BuildMetrics
from ops.production.metrics.cards import CardMetrics
from ops.production.metrics.certificates import CertificateMetrics
from ops.production.metrics.counters.queue_counters import CounterMetrics
from ops.production.metrics.endpoint import OF_PROCESS, ApartInOpenMetrics, registry_of
from ops.production.metrics.names import EXPORTED
from ops.production.metrics.page import page
from ops.production.metrics.queues import QueueMetrics
from ops.production.metrics.services import ServiceMetrics
from ops.production.metrics.verifications import VerificationMetrics
from ops.production.verification import RunningVerification
from services.applier.shell import Applier
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.runtime.cluster_port import Watches
from services.runtime.control_log import Control
from services.runtime.partition.appends import Appends
from services.runtime.partition.turn_durations import Turns
from tests.ops.production.metrics.test_alert_rules import PROMTOOL, needs_promtool
from tests.projections.counters.counted_story import CountedStory
from tests.stories.small_world import job, platform, queue

SERVICES = {
    "kuelog_partition_halted",
    "kuelog_failing",
    "kuelog_set_aside",
    "kuelog_amiss_messages",
    "kuelog_quarantined_messages",
    "kuelog_preemption_loops",
    "kuelog_given_back_messages",
    "kuelog_ignored_messages",
}
"""Told of services that run; none does here."""


BUDGET = Budget(
    period=BudgetPeriod.DAY, limits={"nvidia.com/gpu": 9}, each_user=BudgetLimits(limits={"nvidia.com/gpu": 1})
)


def everything() -> CountedStory:
    """A story in which each of them has something to tell."""
    settings = SettingsObserved(
        fair_sharing=True,
        admission_fair_sharing=AdmissionFairSharing(half_life=3_600_000),
        pods_ready=PodsReadyRule(timeout=3_600_000),
    )
    story = CountedStory().told(settings, CohortObserved(name="all"), CohortObserved(name="pool", parent="all"))
    cq = queue("cq", nominal=1, within=PreemptionPolicy.LOWER_PRIORITY, cohort="pool")
    checked = replace(queue("checked", nominal=1), checks=(CheckRule(name="slow"),))
    story.told(*(one for one in platform(nominal=1, cards=3) if not isinstance(one, ClusterQueueObserved)))
    story.told(
        replace(cq, admission_mode=AdmissionMode.USAGE_BASED, budget=BUDGET),
        checked,
        replace(queue("off", nominal=1), stop=StopPolicy.HOLD),
    )
    story.told(LocalQueueObserved(namespace="team", name="side", cluster_queue="checked"))
    story.told(AdmissionCheckObserved(name="slow", controller="somebody"))
    story.told(PriorityClassObserved(name="high", value=9, workload=True))
    story.told(job("a")).decided()
    story.told(PodsReady(workload="team/a", ready=True))
    story.told(job("urgent", priority=9)).decided()
    story.left()
    story.told(WorkloadFinished(workload="team/urgent", reason="Succeeded")).decided()
    story.told(job("checked", queue="side")).decided()
    ready = CheckStatus(name="slow", state=CheckState.READY, since=story.at)
    decided = story.world.workloads["team/checked"].decided
    story.told(CheckReported(workload="team/checked", check=ready, decision=f"LOG_0/{decided}")).decided()
    cut = Card(uuid="MIG-0", index=7, slots=7, memory=40960, model="NVIDIA-A100", mode="mig")
    piece = CardShare(
        uuid="MIG-0", vendor="NVIDIA", memory=5120, cores=0, instance=MigInstance(profile="1g.5gb", start=6, size=1)
    )
    story.told(DevicesRegistered(node="n2", cards=(cut,)))
    story.told(
        PodObserved(namespace="team", name="p", uid="p", node="n2", phase="Running", shares=((piece,),)),
        CardQuotaObserved(namespace="team", name="q", hard={"limits.nvidia.com/gpumem": 99_999}),
    )
    story.told(job("giant", count=40), job("waits")).decided()
    story.told(job("in-vain", priority=8)).decided()
    story.told(WorkloadDeleted(workload="team/in-vain")).decided()
    story.counters.fold(ClustersNominated(workload="team/waits", check="mk", clusters=("w1",)), story.at)
    story.counters.fold(ClusterChosen(workload="team/waits", check="mk", cluster="w1"), story.at)
    for gated in (True, False):
        pod = PodObserved(
            namespace="team", name="q", uid="q", workload="team/checked", topology=PodTopology(gated=gated)
        )
        story.counters.fold(pod, story.at)
    story.counters.fold(WorkloadSliceReplaced(workload="team/checked", by="team/larger", message=""), story.at)
    again = PreemptionRequested(
        workload="team/waits", cluster_queue="cq", assignments=(), victims=(), recomputed=Recomputation.NEW_TARGETS
    )
    story.counters.fold(again, story.at)
    return story


POSITION = FoldPosition(partition=PARTITION, stream="FACTS", folded=7, last=9, age=1500)
POSITIONS = FoldPositions(positions=(POSITION,), clock_skew=-250)


def serving() -> Any:
    """Services that have done something."""
    clock = cast(Any, SimpleNamespace(now=lambda: 5_000))
    appends = Appends(clock)
    with appends.timed("admitter"):
        pass
    turns = Turns(clock)
    turns.ended("admitter", turns.begun(), [QuotaReserved(workload="team/a", cluster_queue="cq", assignments=())])
    watches = Watches(lists=Counter({("Job", "start"): 1}), heard={"Job": 4_500})
    applier = Applier(cast(Any, None), cast(Any, None), clock, PARTITION, LowPriorityWrites(clock))
    lagging = Applier(cast(Any, None), cast(Any, None), clock, "LOG_1", LowPriorityWrites(clock))
    # Of another partition than the first one: nobody writes what is decided there.
    lagging.backlog.offer(cast(Any, SimpleNamespace(workload="team/late", waits=False, aside=False)), 2_000)
    sites = SiteCopies({})
    copy = CopyState(stream=PARTITION, copied=3, stored=5, before=5)
    sites.states["east"] = SiteState(site="east", streams=(copy,), connected=True, silent=500)
    return SimpleNamespace(
        ports=SimpleNamespace(clock=clock, watches=watches, sites=sites),
        hosts={PARTITION: SimpleNamespace(appends=appends, turns=turns, deciders=("admitter",))},
        services=("admitter", "applier"),
        appliers={PARTITION: applier, "LOG_1": lagging},
        watcher=None,
        leases=SimpleNamespace(
            all=[SimpleNamespace(name="LOG_0.applier", held=True, grants=2, given_back=1)],
            standbys=lambda _: 1,
            written_elsewhere=lambda _: False,
        ),
        witnessing=SimpleNamespace(at=4_000),
        handing_out=cast(Any, SimpleNamespace(handed={"p": 3_000}, outstanding={"p": True})),
    )


def families(story: CountedStory) -> dict[str, Metric]:
    counted = cast(Any, SimpleNamespace(ahead=lambda: given(story)))
    running = cast(Any, SimpleNamespace(hosts={}, control=Control(), given_back={}))
    verifying = cast(Any, SimpleNamespace(verifications={PARTITION: RunningVerification(PARTITION)}))
    told: dict[str, Metric] = {}
    for collector in (
        QueueMetrics(lambda: story.world, lambda: story.at),
        BudgetMetrics(lambda: story.world, lambda: story.at),
        CounterMetrics(counted),
        CardMetrics(lambda: story.world),
        BuildMetrics(),
        *OF_PROCESS,
        AlarmMetrics(running),
        ServiceMetrics(serving(), POSITIONS),
        VerificationMetrics(verifying),
        CertificateMetrics(Certificate(), "webhook"),
        CapacityMetrics([StreamFill(stream="LOG_0", bytes=1, limit=2, days=3.0)]),
    ):
        for family in collector.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            assert name not in told, "told once"
            told[name] = family
    return told


@contextmanager
def given(story: CountedStory) -> Any:
    """What `ahead` of the followers of a story hands out."""
    yield {PARTITION: story.counters}


@pytest.fixture(scope="module")
def told() -> dict[str, Metric]:
    return families(everything())


def value(told: dict[str, Metric], name: str, **labels: str) -> float:
    [found] = [one.value for one in told[name].samples if labels.items() <= one.labels.items()]
    return found


def test_every_name_that_is_promised_is_told_with_its_labels_and_no_other(told: dict[str, Metric]) -> None:
    assert {name: family.type for name, family in told.items()} == {one.name: str(one.kind) for one in EXPORTED}
    for one in EXPORTED:
        assert told[one.name]._labelnames == one.labels
        samples = told[one.name].samples
        assert samples or one.name in SERVICES, f"{one.name} has nothing to tell in this story"
        for sample in samples:
            assert set(sample.labels) - {"le"} == set(one.labels), one.name


def test_the_page_is_made_of_the_list() -> None:
    assert PAGE.read_text() == page(), "run python -m ops.production.metrics"


def test_amounts_limits_and_shares_are_told_as_kueue_tells_them(told: dict[str, Metric]) -> None:
    where = {"cluster_queue": "cq", "flavor": "v100", "resource": "nvidia.com/gpu"}
    assert value(told, "kueue_cluster_queue_nominal_quota", **where) == 1
    assert value(told, "kueue_cluster_queue_borrowing_limit", **where) == float("inf")
    assert value(told, "kueue_cluster_queue_info", cluster_queue="cq", parent_cohort="pool", root_cohort="all") == 1
    assert value(told, "kueue_cluster_queue_status", cluster_queue="off", status="pending") == 1
    assert value(told, "kueue_cluster_queue_status", cluster_queue="off", status="active") == 0
    assert value(told, "kueue_cohort_subtree_quota", cohort="all", resource="nvidia.com/gpu") == 1
    assert value(told, "kueue_finished_workloads", cluster_queue="cq") == 1
    labels = {"cluster_queue": "cq", "status": "inadmissible", "replica_role": "standalone"}
    assert value(told, "kueue_pending_workloads", **labels) >= 1


def test_a_queue_of_weight_zero_that_borrows_has_no_share_that_is_a_number() -> None:
    greedy = replace(queue("cq", nominal=0, cohort="pool"), weight=Weight(numerator=0))
    story = CountedStory().told(SettingsObserved(fair_sharing=True), greedy, queue("lender", nominal=4, cohort="pool"))
    story.told(*(one for one in platform(cards=3) if not isinstance(one, ClusterQueueObserved)), job("a")).decided()
    share = value(families(story), "kueue_cluster_queue_weighted_share", cluster_queue="cq")
    assert share != share


def test_a_label_of_hami_s_with_all_cores_of_a_card_stays_when_more_of_them_are_given(told: dict[str, Metric]) -> None:
    cores = {one.labels["device_cores"] for one in told["hami_gpu_memory_allocated_bytes"].samples}
    assert cores == {"100"}
    quota = {"namespace": "team", "quota_name": "nvidia.com/gpumem"}
    assert value(told, "hami_resource_quota_limit", **quota) == 99_999
    assert value(told, "hami_resource_quota_used", limit="99999", **quota) > 0


def test_what_is_told_reads_as_open_metrics() -> None:
    story = everything()
    counted = cast(Any, SimpleNamespace(ahead=lambda: given(story)))
    others = [QueueMetrics(lambda: story.world, lambda: story.at), CounterMetrics(counted), BuildMetrics()]
    text = as_openmetrics(ApartInOpenMetrics(registry_of(lambda: story.world, (), others))).decode()
    found = {family.name for family in text_string_to_metric_families(text)}
    assert {"kueue_admitted_workloads", "kueue_admission_wait_time_seconds", "hami_gpu_shared_count"} <= found


@needs_promtool
def test_promtool_complains_only_of_two_names_that_are_promised(told: dict[str, Metric]) -> None:
    text = as_text(cast(Any, SimpleNamespace(collect=lambda: told.values())))
    words = [str(PROMTOOL), "check", "metrics"]
    done = subprocess.run(words, input=text, capture_output=True, timeout=60, check=False)
    assert done.returncode in (0, 3), "3: it reads them, and complains"
    complained = [line.split()[0] for line in (done.stdout + done.stderr).decode().splitlines()]
    assert complained == ["hami_gpu_shared_count", "kuelog_log_days_until_full"], "HAMi's suffix, and days for people"


def test_waits_have_the_workload_that_was_counted_last_as_their_exemplar_and_its_trace_where_that_is_exported() -> None:
    story = everything()
    counted = cast(Any, SimpleNamespace(ahead=lambda: given(story)))
    uids = {one.uid for one in story.world.workloads.values()}
    for traced in ("4bf92f3577b34da6a3ce929d0e0e4736", ""):
        found = registry_of(lambda: None, (), [CounterMetrics(counted, lambda _uid, traced=traced: traced)])
        told = {one.name: one for one in text_string_to_metric_families(as_openmetrics(found).decode())}
        for name in ("kueue_admission_wait_time_seconds", "kueue_local_queue_quota_reserved_wait_time_seconds"):
            exemplars = [one.exemplar for one in told[name].samples if one.exemplar is not None]
            assert exemplars
            for sample in told[name].samples:
                if sample.exemplar is not None:
                    assert sample.exemplar.labels.get("trace_id", "") == traced
                    assert sample.exemplar.labels["workload_uid"] in uids
                    assert sample.exemplar.value <= float(sample.labels["le"]), "in the bucket in which it was counted"
        assert "workload_uid" not in as_text(found).decode()


def test_an_append_whose_trace_is_exported_is_an_exemplar_in_open_metrics_and_not_in_plain_text() -> None:
    running = serving()
    with running.hosts[PARTITION].appends.timed("admitter", "4bf92f3577b34da6a3ce929d0e0e4736"):
        pass
    found = registry_of(lambda: None, (), [ServiceMetrics(running, POSITIONS)])
    families = {one.name: one for one in text_string_to_metric_families(as_openmetrics(found).decode())}
    exemplars = [one.exemplar for one in families["kuelog_append_seconds"].samples if one.exemplar is not None]
    assert [one.labels for one in exemplars] == [{"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}]
    assert "trace_id" not in as_text(found).decode()


def test_who_lags_behind_is_told_by_service_partition_and_stream(told: dict[str, Metric]) -> None:
    for service in ("admitter", "applier"):
        where = {"service": service, "partition": PARTITION, "stream": "FACTS"}
        assert value(told, "kuelog_folded_sequence", **where) == 7
        assert value(told, "kuelog_fold_lag_messages", **where) == 2
        assert value(told, "kuelog_fold_lag_seconds", **where) == 1.5
    assert value(told, "kuelog_apply_lag_seconds", partition=PARTITION) == 0
    assert value(told, "kuelog_apply_lag_seconds", partition="LOG_1") == 3
    assert value(told, "kuelog_unapplied_decisions", partition="LOG_1", priority="urgent") == 1
    assert value(told, "kuelog_clock_skew_seconds") == -0.25
    assert value(told, "kuelog_witness_timestamp_seconds") == 4
    assert value(told, "kuelog_checkpoint_handed_out_timestamp_seconds", place="p") == 3
    assert value(told, "kuelog_checkpoint_outstanding", place="p") == 1
    assert value(told, "kuelog_oldest_pending_seconds", cluster_queue="cq") > 0
    assert value(told, "kuelog_oldest_pending_seconds", cluster_queue="off") == 0
    assert value(told, "kuelog_appends_total", partition=PARTITION, author="admitter", result="ok") == 1
    assert value(told, "kuelog_commits_total", partition=PARTITION, author="admitter") > 0
