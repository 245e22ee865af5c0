"""What workloads ask for alike is one value in memory, and says on the log what it said."""

from typing import TypeVar, cast

import msgspec
from msgspec.structs import replace

from events.catalogue import Fact
from events.codec import decode_sighting, encode
from events.commit import Sighting
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import ClusterQueueObserved, FlavorQuotas, Quota, ResourceGroup
from events.shared_specs import SPECS, shared_assignments, shared_spec
from events.topology import TopologyAssignment, TopologyPlacement
from events.workload import Owner, PodSetAssignment, WorkloadChanged, WorkloadFinished, WorkloadSpec, WorkloadSubmitted

F = TypeVar("F", bound=Fact)


def asked(*, queue: str = "lq", requests: dict[str, int] | None = None) -> WorkloadSpec:
    container = ContainerShape(name="c", requests=requests or {"cpu": 1000, "memory": 1})
    return WorkloadSpec(queue=queue, pod_sets=(PodSet(name="main", count=1, shape=PodShape(containers=(container,))),))


def submitted(name: str, spec: WorkloadSpec, *, uid: str = "") -> WorkloadSubmitted:
    owner = Owner(kind="Job", name=name, uid=uid or f"uid-{name}")
    return WorkloadSubmitted(workload=f"team/{name}", uid=f"uid-{name}", owner=owner, created_at=1, spec=spec)


def read_back(fact: F) -> F:
    sighting = Sighting(id=str(fact), at=1, author="watcher", fact=fact)
    data = encode(sighting)
    found = decode_sighting(data)
    assert found == sighting and encode(found) == data
    assert type(found.fact) is type(fact)
    return cast("F", found.fact)


def test_two_workloads_that_ask_for_the_same_hold_one_specification() -> None:
    one, other = read_back(submitted("a", asked())), read_back(submitted("b", asked()))
    assert one.spec is other.spec


def test_a_changed_workload_holds_the_specification_of_one_that_asks_for_the_same() -> None:
    one = read_back(submitted("c", asked()))
    change = Sighting(id="d", at=1, author="watcher", fact=WorkloadChanged(workload="team/d", spec=asked()))
    changed = decode_sighting(encode(change)).fact
    assert isinstance(changed, WorkloadChanged) and changed.spec is one.spec


def test_specifications_that_differ_share_the_pod_sets_that_do_not() -> None:
    one, other = read_back(submitted("e", asked())), read_back(submitted("f", asked(queue="other")))
    assert one.spec != other.spec
    assert one.spec.pod_sets[0] is other.spec.pod_sets[0]


def test_amounts_that_stand_in_another_order_are_equal_but_not_one_value() -> None:
    found: list[WorkloadSpec] = []
    for name, requests in (("g", {"cpu": 1, "memory": 2}), ("h", {"memory": 2, "cpu": 1})):
        fact = submitted(name, asked(requests=requests))
        # Kuelog writes amounts in order; whoever else has written to the log may not.
        data = msgspec.json.encode(Sighting(id=name, at=1, author="watcher", fact=fact))
        read = decode_sighting(data).fact
        assert isinstance(read, WorkloadSubmitted)
        found.append(read.spec)
    one, other = found
    assert one == other and one is not other
    assert list(other.pod_sets[0].shape.containers[0].requests) == ["memory", "cpu"]


def test_a_job_holds_the_uid_of_its_workload_unless_its_own_is_another() -> None:
    one, other = read_back(submitted("i", asked())), read_back(submitted("j", asked(), uid="another"))
    assert one.owner is not None and one.owner.uid is one.uid
    assert other.owner is not None and other.owner.uid == "another"


def test_only_so_many_are_remembered_and_what_was_forgotten_says_the_same() -> None:
    before = shared_spec(asked())
    for number in range(SPECS):
        shared_spec(WorkloadSpec(queue=f"queue-{number}", pod_sets=()))
    after = shared_spec(asked())
    assert after is not before and after == before


def test_a_job_that_spells_out_what_is_a_default_is_written_so_again_whoever_was_read_first() -> None:
    short = encode(Sighting(id="e", at=1, author="watcher", fact=submitted("e", asked())))
    spelled_out = short.replace(b'"kind":"Job"', b'"kind":"Job","api_version":"batch/v1"')
    assert spelled_out != short
    for data in (short, spelled_out, short, spelled_out):
        assert encode(decode_sighting(data)) == encode(msgspec.json.decode(data, type=Sighting))


def test_assignments_that_say_the_same_are_one_value_but_for_those_with_places() -> None:
    def assigned(count: int, topology: TopologyPlacement | None = None) -> tuple[PodSetAssignment, ...]:
        return (
            PodSetAssignment(name="main", count=count, flavors={"cpu": "a"}, usage={"cpu": count}, topology=topology),
        )

    one = shared_assignments(assigned(1))
    assert one == assigned(1) and shared_assignments(assigned(1)) is one
    assert shared_assignments(assigned(2)) == assigned(2)
    placed = assigned(1, TopologyPlacement(flavor="a", assignment=TopologyAssignment(levels=("host",), domains=())))
    assert shared_assignments(placed) is placed


def test_queues_that_own_the_same_hold_one_quota() -> None:
    def queue(name: str, nominal: int) -> ClusterQueueObserved:
        quotas = (FlavorQuotas(flavor="default", quotas=(Quota(resource="cpu", nominal=nominal),)),)
        return read_back(ClusterQueueObserved(name=name, groups=(ResourceGroup(resources=("cpu",), flavors=quotas),)))

    one, other = queue("a", 1000), queue("b", 1000)
    assert one.groups is other.groups
    assert queue("c", 2000).groups[0].flavors[0].quotas[0].nominal == 2000
    assert queue("d", 1000).metric_labels == {}


def test_ends_that_say_the_same_share_their_words_and_times_of_creation_are_one_number() -> None:
    one, other = (
        read_back(WorkloadFinished(workload=f"team/{name}", reason="Succeeded", message="All is done")) for name in "kl"
    )
    assert one.reason is other.reason and one.message is other.message
    first, second = (read_back(replace(submitted(name, asked()), created_at=1_700_000_000_000)) for name in "mn")
    assert first.created_at is second.created_at
