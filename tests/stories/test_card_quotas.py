"""ResourceQuotas of card memory and cores, which HAMi keeps: who is let in beside them, who waits, and what frees him."""

from msgspec.structs import replace

from events.card import CardShare
from events.control import ObjectRemoved
from events.device import CardQuotaObserved, PodObserved
from events.workload import WorkloadFinished
from projections.devices.card_config import HAMI
from projections.devices.holdings.namespace_cards import limits_of
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from services.watcher.view import View
from tests.stories.small_world import CORES, MEMORY, Story, job, platform


def quota(**hard: int) -> CardQuotaObserved:
    names = {"memory": f"limits.{MEMORY}", "cores": f"limits.{CORES}"}
    return CardQuotaObserved(namespace="team", name="q", hard={names[key]: value for key, value in hard.items()})


def admitted(told: Story) -> list[str]:
    return sorted(key for key, one in told.world.workloads.items() if one.admitted)


def test_a_workload_waits_for_the_limit_of_its_namespace_and_gets_in_when_something_ends() -> None:
    told = Story().told(*platform(cards=4), quota(memory=40000), job("a"), job("b", at=1), job("c", at=2))
    told.decided()
    assert admitted(told) == ["team/a", "team/b"]
    attempt = told.world.workloads["team/c"].attempt
    assert attempt is not None and "ResourceQuotas of namespace team" in attempt.message
    assert limits_of(told.world.cards, "team", HAMI.resources)[MEMORY].used == 32000
    told.told(WorkloadFinished(workload="team/a", reason="Succeeded")).decided()
    assert "team/c" in admitted(told)


def test_a_limit_counts_card_by_card_and_over_all_pods_of_a_gang() -> None:
    told = Story().told(*platform(cards=4), quota(cores=120), job("gang", count=3), job("two", count=2, at=1))
    told.decided()
    assert admitted(told) == ["team/two"]


def test_what_pods_of_the_namespace_hold_that_no_queue_manages_counts_in_its_limit() -> None:
    share = CardShare(uuid="GPU-0", vendor="NVIDIA", memory=30000, cores=10)
    for namespace, let_in in (("team", []), ("other", ["team/a"])):
        pod = PodObserved(namespace=namespace, name="p", uid="p", node="n1", phase="Running", shares=((share,),))
        told = Story().told(*platform(cards=4), quota(memory=40000), pod, job("a"))
        told.decided()
        assert admitted(told) == let_in
        told.told(ObjectRemoved(kind="Pod", namespace=namespace, name="p")).decided()
        assert admitted(told) == ["team/a"]


def test_what_no_limit_ever_holds_is_told_apart_from_waiting() -> None:
    told = Story().told(*platform(cards=4), quota(memory=1000), job("a"))
    told.decided()
    attempt = told.world.workloads["team/a"].attempt
    assert attempt is not None and attempt.reason == "ExceedsCardCapacity"  # type: ignore[union-attr]


def test_a_limit_that_is_raised_or_taken_away_lets_in_who_waited() -> None:
    for change in (quota(memory=16000), ObjectRemoved(kind="ResourceQuota", namespace="team", name="q")):
        told = Story().told(*platform(cards=4), quota(memory=0), job("a"))
        told.decided()
        assert admitted(told) == []
        told.told(change).decided()
        assert admitted(told) == ["team/a"]


def test_of_several_quotas_of_a_namespace_the_tightest_counts_in_whatever_order_they_come() -> None:
    wide, tight = replace(quota(memory=100000), name="wide"), replace(quota(memory=1000), name="tight")
    for told_first, told_last in ((wide, tight), (tight, wide)):
        told = Story().told(*platform(cards=4), told_first, told_last, job("a"))
        told.decided()
        assert admitted(told) == []


def test_a_quota_that_is_taken_away_leaves_the_limits_of_the_others() -> None:
    wide, tight = replace(quota(memory=100000), name="wide"), replace(quota(memory=1000), name="tight")
    told = Story().told(*platform(cards=4), wide, tight, job("a"))
    told.told(ObjectRemoved(kind="ResourceQuota", namespace="team", name="wide")).decided()
    assert admitted(told) == []
    told.told(wide, ObjectRemoved(kind="ResourceQuota", namespace="team", name="tight")).decided()
    assert admitted(told) == ["team/a"]
    assert limits_of(told.world.cards, "team", HAMI.resources)[MEMORY].limit == 100000


def test_other_namespaces_are_not_meant() -> None:
    other = replace(quota(memory=0), namespace="elsewhere")
    told = Story().told(*platform(cards=4), other, job("a"))
    told.decided()
    assert admitted(told) == ["team/a"]


def test_a_saved_world_keeps_its_limits() -> None:
    told = Story().told(*platform(cards=4), quota(memory=40000), job("a"))
    told.decided()
    copy = world_of(tables_of(told.world))
    assert state_hash(copy) == state_hash(told.world)
    assert limits_of(copy.cards, "team", HAMI.resources) == limits_of(told.world.cards, "team", HAMI.resources)


def test_of_a_resource_quota_only_what_it_says_of_cards_is_told() -> None:
    hard = {"limits.nvidia.com/gpumem": "2k", "requests.nvidia.com/gpu": "4", "limits.cpu": "3"}
    value = {"metadata": {"namespace": "team", "name": "q"}, "spec": {"hard": hard}}
    (fact,) = View().see("ResourceQuota", value)
    assert fact == CardQuotaObserved(namespace="team", name="q", hard={"limits.nvidia.com/gpumem": 2000})
