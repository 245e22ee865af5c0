"""Which objects are kept from being deleted, as a pure question to a world."""

from events.catalogue import Fact
from events.quota import (
    AdmissionCheckObserved,
    CheckRule,
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    Quota,
    ResourceGroup,
)
from events.settings import SettingsObserved
from events.topology import TopologyObserved
from projections.queues.objects_in_use import wanted_finalizers
from tests.projections.fair_sharing.cohort_world import CohortWorld

QUOTAS = (FlavorQuotas(flavor="default", quotas=(Quota(resource="gpu", nominal=10),)),)


def queue(*, terminating: bool = False, held: bool = True) -> ClusterQueueObserved:
    return ClusterQueueObserved(
        name="team",
        uid="q",
        groups=(ResourceGroup(resources=("gpu",), flavors=QUOTAS),),
        checks=(CheckRule(name="check"),),
        terminating=terminating,
        held=held,
    )


def flavor(*, terminating: bool = False, held: bool = True) -> FlavorObserved:
    return FlavorObserved(name="default", uid="f", terminating=terminating, held=held)


def racks(*, terminating: bool = False, held: bool = True) -> TopologyObserved:
    return TopologyObserved(name="racks", uid="t", levels=("rack",), terminating=terminating, held=held)


def check(*, terminating: bool = False, held: bool = True) -> AdmissionCheckObserved:
    return AdmissionCheckObserved(name="check", uid="c", controller="x", terminating=terminating, held=held)


def wanted(*facts: Fact, running: bool = False) -> dict[str, bool]:
    at = CohortWorld(SettingsObserved())
    for fact in facts:
        at.fold(fact)
    if running:
        at.running("job", "team", 1)
    return {hold.kind: hold.wanted for hold in wanted_finalizers(at.world)}


def test_what_is_there_is_held_at_sight_and_what_is_held_or_leaving_is_left_alone() -> None:
    unheld = wanted(queue(held=False), flavor(held=False), check(held=False), racks(held=False))
    assert unheld == {"ClusterQueue": True, "ResourceFlavor": True, "AdmissionCheck": True, "Topology": True}
    assert not wanted(queue(), flavor(), check(), racks())
    assert not wanted(flavor(held=False, terminating=True))


def test_a_queue_that_is_deleted_is_let_go_once_nothing_has_quota_reserved_in_it() -> None:
    assert not wanted(queue(terminating=True), flavor(), check(), running=True)
    assert wanted(queue(terminating=True), flavor(), check()) == {"ClusterQueue": False}


def test_a_flavor_and_a_check_are_let_go_once_no_queue_names_them() -> None:
    leaving = (flavor(terminating=True), check(terminating=True))
    assert not wanted(queue(), *leaving)
    assert wanted(*leaving) == {"ResourceFlavor": False, "AdmissionCheck": False}


def test_a_topology_is_let_go_once_no_flavor_names_it() -> None:
    user = FlavorObserved(name="default", topology="racks", held=True)
    assert not wanted(user, racks(terminating=True))
    assert wanted(flavor(), racks(terminating=True)) == {"Topology": False}
