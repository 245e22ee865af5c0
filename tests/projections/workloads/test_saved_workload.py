"""Worlds are saved with flat records; a record that comes back is the one that went in, and holds what most have in common once."""

import msgspec

from events.workload import EvictionCount, WorkloadSpec
from projections.workloads.in_cluster import InCluster, News
from projections.workloads.lifecycle import SecondPass, Workload
from projections.workloads.resizing import Resizing
from projections.workloads.saved_workload import SavedSecondPass, SavedWorkload, as_held, as_saved
from projections.workloads.stops import Requeue, Stops

SPEC = WorkloadSpec(queue="lq", pod_sets=())
ORDINARY = Workload(key="team/a", uid="u", owner=None, created_at=1, generation=1, spec=SPEC)
EVICTED = msgspec.structs.replace(
    ORDINARY,
    key="team/b",
    stops=Stops(
        requeue=Requeue(count=2, at=9),
        past_execution=5,
        evictions=(EvictionCount(reason="Preempted", cause="", count=1),),
        preempted_count=1,
        preempted_at=4,
        preempted_by=(("team/c", 1),),
        deactivated_by=3,
        stopped_by=6,
        pods_gone="LOG_0/6",
    ),
    in_cluster=InCluster(
        job_turned=7,
        start_failed="quota of pods",
        released=True,
        earlier=(1,),
        written=8,
        news=(News(sequence=6, at=4, reason="Preempted", message="made room"),),
        discarded="Deleted",
        marks=("LOG_0/2",),
        prebuilt=True,
    ),
    resizing=Resizing(continues=True, shrunk=True),
    second_pass=SecondPass(failures=2, again_at=9, message="no room", placed=3, unhealthy_nodes=("node-1",)),
)


def again(workload: Workload) -> Workload:
    stored = msgspec.json.decode(msgspec.json.encode(as_saved(workload)), type=SavedWorkload)
    return as_held(stored, dict[str, str]().setdefault)


def test_a_workload_that_was_saved_comes_back_as_it_was() -> None:
    assert again(ORDINARY) == ORDINARY
    assert again(EVICTED) == EVICTED


def test_a_saved_workload_has_each_field_of_the_record_and_its_parts_once_and_no_other() -> None:
    parts = {"stops": Stops, "in_cluster": InCluster, "resizing": Resizing}
    own = [name for name in Workload.__struct_fields__ if name not in parts]
    fields = [*own, "unhealthy_nodes", *(name for part in parts.values() for name in part.__struct_fields__)]
    assert sorted(fields) == sorted(SavedWorkload.__struct_fields__)
    assert {*SavedSecondPass.__struct_fields__, "unhealthy_nodes"} == {*SecondPass.__struct_fields__}


def test_workloads_of_which_there_is_nothing_to_say_hold_the_same_parts() -> None:
    one, other = again(ORDINARY), again(ORDINARY)
    assert one.stops is other.stops is ORDINARY.stops
    assert one.in_cluster is other.in_cluster is ORDINARY.in_cluster
    assert one.resizing is other.resizing is ORDINARY.resizing
    assert one.second_pass is other.second_pass is ORDINARY.second_pass
