"""Who is not tried at all.

Rule: docs/rules/variants.md#migration
"""

from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.quota import ClusterQueueObserved
from events.selector import LabelSelector
from events.variants import VariantSubmitted
from events.workload import PodSetAssignment, QuotaReleased, WorkloadQueued
from services.admitter.barriers import barrier_to
from services.admitter.decide import admission_of
from tests.services.queue_manager.waiting_room import KEY, SPEC, Room, submitted

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
