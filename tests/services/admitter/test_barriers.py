"""Who is not tried at all.

Rule: docs/rules/cycle.md#nominate, docs/rules/variants.md#migration, docs/rules/devices.md#webhook
"""

import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused, QuotaReserved, WorkloadAdmitted
from events.quota import ClusterQueueObserved, NamespaceObserved
from events.selector import LabelSelector
from events.settings import SettingsObserved
from events.variants import VariantSubmitted
from events.workload import (
    CheckState,
    CheckStatus,
    Owner,
    PodSetAssignment,
    QuotaReleased,
    WorkloadQueued,
    WorkloadSubmitted,
)
from services.admitter.barriers import barrier_to
from services.admitter.decide import admission_of
from services.admitter.entry import QueueHead
from services.admitter.nomination import nominate
from tests.services.queue_manager.waiting_room import KEY, SPEC, Room, submitted
from tests.stories.small_world import Story, job, platform

OLD, NEW = "team/w-f", "team/w-g"


def variant(key: str, flavor: str) -> VariantSubmitted:
    spec = replace(SPEC, variant_of=KEY, allowed_flavors=(flavor,))
    return VariantSubmitted(workload=key, parent=KEY, flavor=flavor, uid=key, created_at=0, spec=spec)


def reserved(key: str, queue: str, flavor: str) -> QuotaReserved:
    given = PodSetAssignment(name="main", count=1, flavors={"cpu": flavor}, usage={"cpu": 1000})
    return QuotaReserved(workload=key, cluster_queue=queue, assignments=(given,))


def test_a_job_that_was_moved_to_another_queue_runs_as_no_second_variant_there() -> None:
    room = Room(ClusterQueueObserved(name="other", namespaces=LabelSelector()), submitted())
    room.tell(variant(OLD, "f"), reserved(OLD, "cq", "f"), WorkloadAdmitted(workload=OLD, cluster_queue="cq"))
    room.tell(variant(NEW, "g"), WorkloadQueued(workload=NEW, cluster_queue="other"))
    new, queue = room.world.workloads[NEW], room.world.cluster_queues["other"]
    barrier = barrier_to(room.world, new, queue)
    assert barrier is not None and barrier[1] == f"Variant {OLD} is admitted in ClusterQueue cq"
    room.tell(reserved(NEW, "other", "g"))
    assert admission_of(room.world, room.world.workloads[NEW]) == [], "nor does one that holds quota already"
    room.tell(QuotaReleased(workload=OLD, reason="Pending", message=""))
    assert barrier_to(room.world, new, queue) is None
    assert admission_of(room.world, room.world.workloads[NEW]) == [
        WorkloadAdmitted(workload=NEW, cluster_queue="other")
    ]


@pytest.mark.parametrize("state", CheckState)
def test_a_check_that_has_failed_ends_a_try_before_any_flavor_is_looked_at(state: CheckState) -> None:
    room = Room(submitted(), WorkloadQueued(workload=KEY, cluster_queue="cq"))
    checked = replace(room.world.workloads[KEY], checks={"k": CheckStatus(name="k", state=state)})
    entry = nominate(room.world, QueueHead(workload=checked, queue=room.world.cluster_queues["cq"]), 0)
    if state in (CheckState.RETRY, CheckState.REJECTED):
        told = ("PendingEvaluation", "The workload has failed admission checks")
        assert (entry.assignment, entry.reason, entry.message) == (None, *told)
    else:
        assert entry.assignment is not None


def refused_by_hami(name: str, *, owner: str = "Job", priority: int = 0) -> WorkloadSubmitted:
    """A job that asks for a card and runs privileged, whose pods HAMi's webhook refuses."""
    plain = job(name, priority=priority)
    (pods,) = plain.spec.pod_sets
    containers = tuple(replace(one, privileged=True) for one in pods.shape.containers)
    pods = replace(pods, shape=replace(pods.shape, containers=containers))
    made_by = Owner(kind=owner, name=name, uid=name, api_version="v1" if owner == "Pod" else "batch/v1")
    return replace(plain, owner=made_by, spec=replace(plain.spec, pod_sets=(pods,)))


def test_pods_that_hamis_webhook_refuses_get_neither_quota_nor_cards_nor_the_room_of_others() -> None:
    told = Story().told(*platform(nominal=1, cards=1), job("there"))
    told.decided()
    said = told.told(refused_by_hami("never", priority=10)).decided()
    (refused,) = (one for one in said if isinstance(one, AdmissionRefused))
    assert (refused.workload, refused.reason) == ("team/never", "ExceedsCardCapacity")
    assert refused.message == (
        "pods of pod set main never come up, for HAMi's webhook refuses them: a privileged container sees every card"
    )
    assert told.world.workloads["team/there"].admitted and not told.world.workloads["team/there"].evicted


def test_a_namespace_that_hamis_webhook_is_told_to_ignore_has_its_pods_let_in_also_later() -> None:
    told = Story().told(*platform(), refused_by_hami("a"))
    told.decided()
    assert not told.world.workloads["team/a"].admitted
    told.told(NamespaceObserved(name="team", labels={"hami.io/webhook": "ignore"})).decided()
    assert told.world.workloads["team/a"].admitted


@pytest.mark.parametrize("owner", ["Pod", "Job"])
def test_pods_that_are_there_already_were_not_refused(owner: str) -> None:
    told = Story().told(*platform(), refused_by_hami("a", owner=owner))
    told.decided()
    assert told.world.workloads["team/a"].admitted == (owner == "Pod")


def test_where_cards_are_not_chosen_hami_is_nobody_who_could_refuse() -> None:
    told = Story().told(SettingsObserved(devices=False), *platform(), refused_by_hami("a"))
    told.decided()
    assert told.world.workloads["team/a"].admitted
