"""Who is tried again when something else than quota has changed."""

from msgspec.structs import replace

from events.admission import PreemptionRequested
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.quota import AdmissionCheckObserved, CheckRule, FlavorObserved, LocalQueueObserved, PreemptionPolicy
from tests.stories.small_world import Story, job, platform, queue


def one_borrows() -> Story:
    """A queue whose quota another one has borrowed, which asks for a check."""
    mine = queue("mine", nominal=2, reclaim=PreemptionPolicy.ANY, cohort="pool")
    told = Story().told(AdmissionCheckObserved(name="budget", controller="example.com/budget", active=True))
    told.told(*platform(nominal=0, cards=2, cohort="pool"), mine)
    told.told(LocalQueueObserved(namespace="team", name="mine", cluster_queue="mine"), job("theirs")).decided()
    assert told.world.workloads["team/theirs"].reserved
    told.told(replace(told.world.cluster_queues["cq"], checks=(CheckRule(name="budget"),))).decided()
    return told


def takes_back(told: Story, sleeps: AnyEvent, goes_on: AnyEvent) -> bool:
    """Whether the other queue preempts as soon as the one that borrows goes on, and not before."""
    told.told(sleeps, job("own", queue="mine", count=2))
    assert not any(isinstance(event, PreemptionRequested) for event in told.decided())
    return any(isinstance(event, PreemptionRequested) for event in told.told(goes_on).decided())


def test_who_waits_for_quota_that_a_queue_borrows_is_tried_again_when_its_check_is_active_again() -> None:
    told = one_borrows()
    check = told.world.checks["budget"]
    assert takes_back(told, replace(check, active=False), check)


def test_who_waits_for_quota_that_a_queue_borrows_is_tried_again_when_its_flavor_is_there_again() -> None:
    told = one_borrows()
    other = told.world.cluster_queues["cq"].groups[0]
    more = replace(other.flavors[0], flavor="more")
    told.told(FlavorObserved(name="more"))
    groups = (replace(other, flavors=(*other.flavors, more)),)
    told.told(replace(told.world.cluster_queues["cq"], groups=groups)).decided()
    assert takes_back(told, ObjectRemoved(kind="ResourceFlavor", name="more"), FlavorObserved(name="more"))
