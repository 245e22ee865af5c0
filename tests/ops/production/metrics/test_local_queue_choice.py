"""Metrics of local queues, of those alone that the configuration chooses (docs/metrics.md#local-queues)."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace
from prometheus_client.registry import Collector

from events.json_object import JsonObject
from events.quota import LocalQueueObserved
from events.selector import LabelSelector
from events.settings import SettingsObserved
from ops.production.configuration.configuration_file import ConfigurationBroken, configuration_of
from ops.production.metrics.counters.queue_counters import CounterMetrics
from ops.production.metrics.local_queue_choice import WithChosenLocalQueues
from ops.production.metrics.queues import QueueMetrics
from services.watcher.view import View
from tests.ops.production.metrics.test_custom_labels import api_object
from tests.ops.production.metrics.test_names import everything, given
from tests.projections.counters.counted_story import CountedStory

TEAMS = LabelSelector(labels={"metrics": "yes"})


def settings(**part: object) -> SettingsObserved:
    return configuration_of({"metrics": {"localQueueMetrics": part}}, "it").settings


def test_which_local_queues_are_measured_is_read() -> None:
    chosen: JsonObject = {"matchLabels": {"metrics": "yes"}}
    plain = configuration_of({}, "it").settings
    assert (plain.local_queue_metrics, plain.measured_local_queues) == (True, None)
    found = settings(enable=True, localQueueSelector=chosen)
    assert (found.local_queue_metrics, found.measured_local_queues) == (True, TEAMS)
    assert settings(enable=True).local_queue_metrics
    assert not settings(enable=False).local_queue_metrics
    assert not settings(localQueueSelector=chosen).local_queue_metrics, "off unless it says so, as in Kueue"
    off = configuration_of({"featureGates": {"LocalQueueMetrics": False}}, "it")
    assert (off.settings.local_queue_metrics, off.ignored) == (False, ())


@pytest.mark.parametrize("part", [{"localQueueMetric": {}}, {"localQueueMetrics": {"enabled": True}}, {"adress": ":1"}])
def test_a_field_about_metrics_that_nobody_knows_is_refused(part: JsonObject) -> None:
    with pytest.raises(ConfigurationBroken, match="metrics"):
        configuration_of({"metrics": part}, "it")


def left_out(view: View, **labels: str) -> list[bool]:
    door = api_object("LocalQueue", "lq", namespace="team", spec={"clusterQueue": "cq"}, labels=labels)
    return [one.unmeasured for one in view.see("LocalQueue", door) if isinstance(one, LocalQueueObserved)]


def test_the_watcher_tells_which_local_queues_are_left_out_and_tells_it_again_when_that_changes() -> None:
    view = View(settings=SettingsObserved(measured_local_queues=TEAMS))
    assert left_out(view) == [True]
    assert left_out(view, metrics="yes") == [False]
    assert left_out(view, metrics="no") == [True]
    assert left_out(View()) == [False], "all of them without a choice"


def series(story: CountedStory) -> set[tuple[str, str]]:
    """The local queues by metric, or an empty name for metrics of others."""
    counted = cast(Any, SimpleNamespace(ahead=lambda: given(story)))
    of_queues = QueueMetrics(lambda: story.world, lambda: story.at)
    collectors: tuple[Collector, ...] = (of_queues, CounterMetrics(counted))
    return {
        (metric.name, sample.labels["name"] if "namespace" in sample.labels else "")
        for one in collectors
        for metric in WithChosenLocalQueues(one, lambda: story.world).collect()
        for sample in metric.samples
    }


def test_metrics_of_local_queues_that_are_left_out_are_not_exported_and_all_others_are() -> None:
    story = everything()
    before = series(story)
    local = {metric for metric, _ in before if metric.startswith("kueue_local_queue_")}
    assert {name for metric, name in before if metric in local} >= {"lq", "side"}
    story.told(replace(story.world.local_queues["team/side"], unmeasured=True))
    assert series(story) == {(metric, name) for metric, name in before if name != "side"}
    story.told(replace(story.world.settings, local_queue_metrics=False))
    assert series(story) == {(metric, name) for metric, name in before if metric not in local}
