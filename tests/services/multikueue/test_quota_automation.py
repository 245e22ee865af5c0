"""What is decided about quota that follows other clusters, and when.

Rule: docs/rules/multikueue.md#quota
"""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.multikueue import MultiKueueSettings, QuotaAutomationEnded, QuotaAutomationSettled
from events.quota import LocalQueueObserved
from events.settings import SettingsObserved
from projections.checks.quota_automation import GATE
from services.multikueue.decide import MultiKueue
from tests.projections.checks.test_quota_automation import CHECK, CONFIG, ON, QUEUE, cluster, there, told
from tests.projections.partitions.test_homes import placing, seen
from tests.stories.small_world import Story, job

LOCAL = LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq")
HERE: tuple[AnyEvent, ...] = (ON, CHECK, CONFIG, cluster("w1"), QUEUE, LOCAL)


@pytest.fixture(params=["by hints", "without hints", "taken back"])
def manager(request: pytest.FixtureRequest) -> Story:
    story = Story(unchecked=request.param == "by hints", forgetful=request.param == "without hints")
    story.deciders.insert(1, MultiKueue())
    return story


def after(story: Story, *facts: AnyEvent) -> list[tuple[str, int]]:
    """What is said about quota then: the reason, and the nominal quota of cpu."""
    story.told(*facts)
    return [
        (one.reason, one.nominal.get("cpu", -1)) if isinstance(one, QuotaAutomationSettled) else ("ended", -1)
        for one in story.decided()
        if isinstance(one, QuotaAutomationSettled | QuotaAutomationEnded)
    ]


def test_it_is_said_once_and_again_whenever_it_is_something_else(manager: Story) -> None:
    assert after(manager, *HERE) == [], "the cluster has told nothing yet"
    assert after(manager, told("w1", there("a", "team/lq", cpu=4_000))) == [("QuotaAutomated", 4_000)]
    assert after(manager, told("w1", there("a", "team/lq", cpu=4_000))) == []
    assert after(manager, told("w1", there("a", "team/lq", cpu=3_000))) == [("QuotaAutomated", 3_000)]
    assert after(manager, cluster("w1", active=False)) == [("QuotaAutomated", 0)]
    assert after(manager, cluster("w1")) == [("QuotaAutomated", 3_000)]
    assert after(manager, replace(CONFIG, automated=False)) == [("NotRequested", -1)]
    assert after(manager, CONFIG) == [("QuotaAutomated", 3_000)]
    gone = ObjectRemoved(kind="LocalQueue", namespace="team", name="lq")
    assert after(manager, gone) == [("QuotaAutomated", 0)]
    assert after(manager, LOCAL) == [("QuotaAutomated", 3_000)]
    assert after(manager, replace(LOCAL, cluster_queue="another")) == [("QuotaAutomated", 0)]
    assert after(manager, ObjectRemoved(kind="AdmissionCheck", namespace="", name="elsewhere")) == [("ended", -1)]
    assert after(manager, CHECK) == [("QuotaAutomated", 0)]
    assert after(manager, replace(QUEUE, checks=())) == [("ended", -1)]


@pytest.mark.parametrize(
    "off", [SettingsObserved(multikueue=MultiKueueSettings()), SettingsObserved(gates={GATE: True})]
)
def test_it_ends_with_the_gate_or_when_nothing_is_sent_to_clusters_any_more(
    manager: Story, off: SettingsObserved
) -> None:
    after(manager, *HERE, told("w1"))
    assert after(manager, off) == [("ended", -1)]
    assert after(manager, ON) == [("QuotaAutomated", 0)]


def test_without_the_gate_the_field_has_no_effect(manager: Story) -> None:
    off = SettingsObserved(multikueue=MultiKueueSettings())
    assert after(manager, off, *HERE[1:], told("w1", there("a", "team/lq", cpu=4_000))) == []


def test_a_queue_that_is_gone_takes_what_was_decided_along(manager: Story) -> None:
    after(manager, *HERE, told("w1"))
    assert after(manager, ObjectRemoved(kind="ClusterQueue", namespace="", name="cq")) == []
    assert not manager.world.quota_automation
    assert after(manager, QUEUE) == [("QuotaAutomated", 0)]


def test_on_a_divided_log_the_partition_decides_in_which_the_queue_is_at_home() -> None:
    facts = (ON, placing(cq=1), *HERE[1:], told("w1", there("a", "team/lq", cpu=4_000)))
    for name in ("LOG_0", "LOG_1", "LOG_2"):
        partition = seen(name, *facts)
        partition.deciders[:] = [MultiKueue()]
        said = [("QuotaAutomated", 4_000)]
        assert after(partition) == (said if name == "LOG_0" else []), "nobody has asked the queue yet"
        assert after(partition, job("j")) == (said if name == "LOG_1" else [])
        assert list(partition.world.quota_automation) == (["cq"] if name == "LOG_1" else []), "one of them knows"
