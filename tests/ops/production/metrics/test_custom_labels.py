"""Labels of one's own: from an object of the API to the metrics about it, and to no others."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from events.catalogue import Fact
from events.quota import ClusterQueueObserved, LocalQueueObserved
from events.settings import LabelSource, MetricLabel, SettingsObserved
from ops.production.metrics.counters.queue_counters import CounterMetrics
from ops.production.metrics.custom_labels import UNTRACKED, WithCustomLabels
from ops.production.metrics.names import KUEUE, ROLE
from ops.production.metrics.queues import QueueMetrics
from services.watcher.view import View
from tests.ops.production.metrics.test_names import everything, given
from tests.projections.counters.counted_story import CountedStory

LABELS = (
    MetricLabel(name="team", label="team"),
    MetricLabel(name="center", annotation="example.com/center"),
    MetricLabel(name="owner", source=LabelSource.LOCAL_QUEUE, label="owner", tracked=("ada",)),
    MetricLabel(name="site", source=LabelSource.COHORT, label="site"),
)
SETTINGS = SettingsObserved(metric_labels=LABELS, fair_sharing=True)
OF_QUEUE = {"custom_team", "custom_center"}


def api_object(kind: str, name: str, *, namespace: str = "", spec: dict[str, Any] | None = None, **meta: Any) -> Any:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", **meta},
        "spec": spec or {},
    }


def queue_object(team: str) -> Any:
    return api_object(
        "ClusterQueue",
        "cq",
        labels={"team": team, "other": "x"},
        annotations={"example.com/center": "c-1", "team": "not this one"},
    )


def metric_labels_of(facts: Iterable[Fact]) -> list[dict[str, str]]:
    return [one.metric_labels for one in facts if isinstance(one, ClusterQueueObserved | LocalQueueObserved)]


def test_the_watcher_tells_what_the_settings_ask_for_and_tells_it_again_when_it_changes() -> None:
    view = View(settings=SETTINGS)
    assert metric_labels_of(view.see("ClusterQueue", queue_object("ml"))) == [{"team": "ml", "center": "c-1"}]
    assert view.see("ClusterQueue", queue_object("ml")) == []
    assert metric_labels_of(view.see("ClusterQueue", queue_object("web"))) == [{"team": "web", "center": "c-1"}]
    door = api_object("LocalQueue", "lq", namespace="team", spec={"clusterQueue": "cq"}, labels={"team": "x"})
    assert metric_labels_of(view.see("LocalQueue", door)) == [{}], "labels of another kind are not asked for"


def test_without_such_settings_labels_of_queues_are_not_told() -> None:
    assert metric_labels_of(View().see("ClusterQueue", queue_object("ml"))) == [{}]


def labelled() -> CountedStory:
    """A story in which every metric has something to tell; its queue `cq`, the local queue `lq` and the cohort `pool` bear labels."""
    story = everything()
    world = story.world
    story.told(
        replace(world.settings, metric_labels=LABELS),
        replace(world.cluster_queues["cq"], metric_labels={"team": "ml", "center": "c-1"}),
        replace(world.local_queues["team/lq"], metric_labels={"owner": "ada"}),
        replace(world.local_queues["team/side"], metric_labels={"owner": "bob"}),
        replace(world.cohorts["pool"], metric_labels={"site": "bern"}),
    )
    return story


def told(story: CountedStory) -> dict[str, Metric]:
    counted = cast(Any, SimpleNamespace(ahead=lambda: given(story)))
    collectors: tuple[Collector, ...] = (
        QueueMetrics(lambda: story.world, lambda: story.at),
        CounterMetrics(counted),
    )
    found = [one for each in collectors for one in WithCustomLabels(each, lambda: story.world).collect()]
    return {f"{one.name}_total" if one.type == "counter" else one.name: one for one in found}


def test_each_metric_bears_the_labels_of_the_object_that_it_is_about_and_the_others_none() -> None:
    found = told(labelled())
    for one in KUEUE:
        if one.name not in found:
            continue
        labels = set(one.labels) - {ROLE}
        wanted: set[str] = set()
        if {"name", "namespace"} <= labels:
            wanted = {"custom_owner"}
        elif labels & {"cluster_queue", "preempting_cluster_queue"}:
            wanted = OF_QUEUE
        elif "cohort" in labels:
            wanted = {"custom_site"}
        for sample in found[one.name].samples:
            assert {name for name in sample.labels if name.startswith("custom_")} == wanted, one.name
    ours = {name for one in found.values() if one.name.startswith("kuelog") for s in one.samples for name in s.labels}
    assert not any(name.startswith("custom_") for name in ours)


def values(found: dict[str, Metric], metric: str, label: str, **where: str) -> set[str]:
    return {one.labels[label] for one in found[metric].samples if where.items() <= one.labels.items()}


def test_values_are_those_of_the_object_empty_where_it_has_none_and_hidden_where_they_are_not_tracked() -> None:
    found = told(labelled())
    assert values(found, "kueue_pending_workloads", "custom_team", cluster_queue="cq") == {"ml"}
    assert values(found, "kueue_pending_workloads", "custom_team", cluster_queue="checked") == {""}
    assert values(found, "kueue_admission_wait_time_seconds", "custom_center", cluster_queue="cq") == {"c-1"}
    assert values(found, "kueue_preempted_workloads_total", "custom_team", preempting_cluster_queue="cq") == {"ml"}
    assert values(found, "kueue_local_queue_pending_workloads", "custom_owner", name="lq") == {"ada"}
    assert values(found, "kueue_local_queue_pending_workloads", "custom_owner", name="side") == {UNTRACKED}
    assert values(found, "kueue_cohort_info", "custom_site", cohort="pool") == {"bern"}
    assert values(found, "kueue_cohort_info", "custom_site", cohort="all") == {""}


def test_what_was_counted_goes_on_under_the_new_value() -> None:
    story = labelled()
    before = sum(one.value for one in told(story)["kueue_admitted_workloads_total"].samples)
    story.told(replace(story.world.cluster_queues["cq"], metric_labels={"team": "web"}))
    found = told(story)
    assert values(found, "kueue_admitted_workloads_total", "custom_team", cluster_queue="cq") == {"web"}
    assert sum(one.value for one in found["kueue_admitted_workloads_total"].samples) == before


def test_without_such_settings_metrics_are_as_they_are() -> None:
    found = told(everything())
    assert not any(name.startswith("custom_") for one in found.values() for s in one.samples for name in s.labels)
