"""Who is told to wait would get in one day, and who is told that waiting does not help would not: held against what happens."""

import pytest
from msgspec.structs import replace

from events.catalogue import Fact
from events.control import ObjectRemoved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import FlavorQuotas, LocalQueueObserved, Quota, ResourceGroup
from events.workload import WorkloadDeleted, WorkloadFinished, WorkloadSubmitted
from ops.production.trial import tried
from ops.queries import alone
from ops.queries.explaining import explain
from ops.queries.patience import Patience
from projections.devices.holdings.card_holdings import CardHoldings
from projections.explanation.fixes import FOR_NOW, NEVER
from projections.explanation.words import Explanation
from projections.preemption.classic import free
from projections.workloads.variants import has_variants
from projections.world import World
from tests.laws.random_life import Life
from tests.ops.queries.test_held_up import told
from tests.stories.small_world import Story, job, platform, queue


def test_who_asks_in_all_for_more_than_there_ever_is_is_told_so_while_the_queue_is_full() -> None:
    both = job("both", at=1)
    shape = both.spec.pod_sets[0].shape
    pod_sets = (PodSet(name="first", count=3, shape=shape), PodSet(name="second", count=3, shape=shape))
    story = Story().told(*platform(nominal=2, cards=8, cohort="all"), queue("other", nominal=2, cohort="all"))
    story.told(job("a", count=2)).decided()
    story.told(replace(both, spec=replace(both.spec, pod_sets=pod_sets))).decided()
    found = told(story, "both")
    assert found.reason == "WaitingForQuota"
    assert found.note.startswith(
        "waiting does not help: if nothing else held quota or cards, it would be refused with ExceedsMaxQuota: "
    )
    assert found.fix == "ask for less, or have the quota of the queue or its cohort raised"
    story.told(WorkloadFinished(workload="team/a", reason="Succeeded")).decided()
    assert told(story, "both").reason == "ExceedsMaxQuota"


def test_who_may_run_with_fewer_pods_is_not_told_to_ask_for_less() -> None:
    wide = job("wide", count=9, at=1)
    pod_sets = (replace(wide.spec.pod_sets[0], minimum=2),)
    story = Story().told(*platform(nominal=3, cards=8), job("a", count=2))
    story.told(replace(wide, spec=replace(wide.spec, pod_sets=pod_sets))).decided()
    found = told(story, "wide")
    assert found.reason == "ExceedsMaxQuota"
    assert found.fix == (
        "wait: it does not fit as things stand, and it would if nothing else held quota or cards (with fewer pods, down to its minCount)"
    )
    story.told(WorkloadFinished(workload="team/a", reason="Succeeded"), *pods_gone(story.world, "team/a")).decided()
    assert told(story, "wide").state == "admitted"


def test_others_are_taken_away_at_the_cost_of_its_own_tree_and_cards_only_of_who_asks_for_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cpu(name: str, lq: str) -> WorkloadSubmitted:
        asked = job(name, queue=lq)
        shape = PodShape(containers=(ContainerShape(name="main", requests={"cpu": 1000}),))
        return replace(asked, spec=replace(asked.spec, pod_sets=(PodSet(name="main", count=1, shape=shape),)))

    group = ResourceGroup(
        resources=("cpu",), flavors=(FlavorQuotas(flavor="v100", quotas=(Quota(resource="cpu", nominal=3000),)),)
    )
    story = Story().told(*platform(nominal=8, cards=8))
    for one in "xyz":
        found = queue(one, nominal=0)
        story.told(
            replace(found, groups=(*found.groups, group)),
            LocalQueueObserved(namespace="team", name=one, cluster_queue=one),
        )
        story.told(*(cpu(f"{one}{number}", one) for number in range(5)))
    story.told(*(job(f"card{number}") for number in range(4))).decided()
    freed: list[object] = []
    emptied: list[str] = []
    monkeypatch.setattr(alone, "free", lambda trail, node, usage: (freed.append(usage), free(trail, node, usage)))
    vacate = CardHoldings.vacate
    monkeypatch.setattr(CardHoldings, "vacate", lambda cards, key: (emptied.append(key), vacate(cards, key)))
    assert told(story, "x4").reason == "WaitingForQuota"
    assert (len(freed), emptied) == (3, [])


def pods_gone(world: World, key: str) -> list[Fact]:
    pods = [pod.partition("/") for pod in sorted(world.cards.living.get(key, ()))]
    return [ObjectRemoved(kind="Pod", namespace=space, name=name) for space, _, name in pods]


def says_never(found: Explanation) -> bool:
    if found.reason in NEVER:
        return not found.fix.startswith("wait:")
    return found.note.startswith("waiting does not help")


def comes_in_alone(world: World, key: str, at: int) -> bool | None:
    """Whether it gets in once all others are gone; None where it is gone with them."""
    others = [one.key for one in world.workloads.values() if one.key != key and not one.finished]
    facts: list[Fact] = []
    for other in sorted(others):
        ended = WorkloadFinished(workload=other, reason="Succeeded")
        facts += [ended, *pods_gone(world, other), WorkloadDeleted(workload=other)]

    def came_in(then: World) -> bool | None:
        found = then.workloads.get(key)
        if found is None:
            return None
        waits_for_cards = getattr(found.attempt, "message", "") == "Its cards are on their way back"
        return found.admission is not None or waits_for_cards

    return tried(world, facts, at, came_in, lambda then: came_in(then) is not False)


@pytest.mark.parametrize("seed", [61, 62, 63, 64, 112, 156, 177])
def test_what_is_told_of_random_worlds_at_rest_comes_true_once_all_others_are_gone(seed: int) -> None:
    life = Life(seed).live(14)
    world, at = life.hosts.hosts[0].fold.world, life.hosts.at
    for key in sorted(world.workloads):
        workload = world.workloads[key]
        if workload.admission is not None or workload.finished or has_variants(world, workload):
            continue
        found = explain(world, workload, at, patience=Patience(0))
        if found.state != "pending" or found.reason not in {*NEVER, *FOR_NOW}:
            continue
        if found.waits_for[:1] == ("more cards than there are now",):
            continue
        came = comes_in_alone(world, key, at)
        assert came is None or came is not says_never(found), found
