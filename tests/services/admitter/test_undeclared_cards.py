"""Queues that don't say how many cards there are, under workloads that ask for more than any card has."""

import pytest
from msgspec.structs import replace

from events.quota import ClusterQueueObserved, Quota, ResourceGroup
from events.settings import QuotaCheckStrategy
from projections.workloads.lifecycle import QUOTA_RESERVED
from tests.stories.small_world import CORES, GPU, Story, job, platform, queue


def undeclared(*, groups: tuple[ResourceGroup, ...] = ()) -> ClusterQueueObserved:
    return replace(queue("cq", nominal=8), undeclared=QuotaCheckStrategy.IGNORE_UNDECLARED, groups=groups)


def word(told: Story, key: str) -> str:
    found = told.world.workloads[key].condition(QUOTA_RESERVED)
    return "" if found is None else found.message


@pytest.mark.parametrize("forgetful", [False, True])
def test_who_asks_more_than_any_card_has_is_refused_where_no_quota_is_declared_for_cards(forgetful: bool) -> None:
    told = Story(forgetful=forgetful).told(*platform()).told(undeclared())
    told.told(job("giant", memory=60000), job("small")).decided()
    assert told.world.workloads["team/small"].admitted, "the others go on"
    assert not told.world.workloads["team/giant"].reserved
    assert "finds no cards" in word(told, "team/giant")


def test_a_queue_whose_quotas_are_taken_away_while_somebody_waits_for_cards_goes_on() -> None:
    story = Story().told(*platform(cards=1)).told(job("a"), job("b"), job("giant", memory=60000))
    story.decided()
    story.told(undeclared()).decided()
    story.told(job("c")).decided()
    assert not story.world.workloads["team/giant"].reserved
    story.told(queue("cq", nominal=8)).decided()
    assert story.world.workloads["team/a"].admitted


def test_only_a_part_of_what_cards_offer_may_be_declared() -> None:
    part = queue("cq", nominal=8).groups[0]
    few = replace(
        part,
        resources=(CORES,),
        flavors=(replace(part.flavors[0], quotas=(Quota(resource=CORES, nominal=400),)),),
    )
    told = Story().told(*platform()).told(undeclared(groups=(few,)))
    told.told(job("giant", memory=60000), job("small")).decided()
    assert told.world.workloads["team/small"].admitted
    assert not told.world.workloads["team/giant"].reserved
    assert GPU not in told.world.quota.usage_by_name(told.world.quota.queues["cq"])
