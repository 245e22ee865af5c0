"""A queue that asks for other checks than before, while its workloads are tried or run in other clusters.

Rule: docs/rules/multikueue.md#changed-checks
"""

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.quota import CheckRule, StopPolicy
from events.workload import CheckState, Member, MemberState, PodsGone, WorkloadFinished
from ops.production.process.clock import ScaledClock
from projections.explanation.elsewhere import answers
from projections.world import World
from services.applier.plan import plan as applications
from services.multikueue import lane
from services.multikueue.lane import Lane
from services.multikueue.remote_plan import RemoteJob, RemotePlan
from tests.services.multikueue.test_lanes import Recorded
from tests.services.multikueue.test_rules import CHECK, KEY, Manager, cluster, delegated, kinds, running
from tests.services.multikueue.test_slices import Growing


def another_check(told: Manager, *names: str) -> list[AnyEvent]:
    """The queue asks for these checks from now on, all of which lead to the same clusters."""
    told.told(*(replace(CHECK, name=name) for name in names))
    return told.after(replace(told.world.cluster_queues["cq"], checks=tuple(CheckRule(name=name) for name in names)))


def cluster_shown(told: Manager) -> tuple[str | None, list[str] | None]:
    """Which cluster the object names, and where it is tried by it."""
    (found,) = applications(told.world, "LOG_0", [KEY])
    return found.status.get("clusterName"), found.status.get("nominatedClusterNames")


def test_what_runs_elsewhere_runs_on_when_the_check_of_its_queue_is_another_one() -> None:
    told = running()
    decision = told.world.dispatches[KEY].decision
    another_check(told, "mk2")
    found = told.world.workloads[KEY].checks
    assert [(name, one.state) for name, one in found.items()] == [("mk2", CheckState.READY)]
    assert told.plan.run == RemoteJob(cluster="w1", decision=decision, make=False) and not told.plan.remove
    assert cluster_shown(told) == ("w1", None)
    told.deciders = [one for one in told.deciders if one.name != "multikueue"]
    another_check(told, "mk3")
    assert cluster_shown(told) == ("w1", None), "nobody has said yet that the new one is Ready"


def test_who_is_chosen_a_cluster_goes_there_when_the_check_of_his_queue_is_another_one() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", QuotaReserved=1, Admitted=5)
    another_check(told, "mk2")
    assert told.plan.run is not None and told.plan.run.make
    assert cluster_shown(told) == (None, ["w1"])
    told.synced()
    assert told.world.workloads[KEY].admitted and cluster_shown(told) == ("w1", None)


def test_a_workload_that_can_t_be_planned_keeps_no_other_from_being_written(monkeypatch: pytest.MonkeyPatch) -> None:
    told = running()
    told.told(cluster("w1"), delegated("b"))
    told.after()
    sound, asked = lane.plan, list[str]()

    def fails(world: World, key: str) -> RemotePlan:
        asked.append(key)
        if key == KEY:
            raise KeyError(key)
        return sound(world, key)

    monkeypatch.setattr(lane, "plan", fails)
    clock, changed = ScaledClock(), list[str]()
    found = Lane("LOG_0", clock, Recorded(clock), None, lambda _, keys: changed.extend(sorted(keys)))
    found.observe(told.world, [KEY, "team/b"])
    assert asked == [KEY, "team/b"] and changed == [KEY, "team/b"], "and clusters are connected"


def test_what_runs_elsewhere_runs_on_when_its_queue_asks_for_no_such_check_any_more() -> None:
    told = running()
    decision = told.world.dispatches[KEY].decision
    said = another_check(told)
    assert "DevicesReserved" not in kinds(said), "it has its cards there"
    assert told.world.workloads[KEY].admitted and not told.plan.remove
    assert told.plan.run == RemoteJob(cluster="w1", decision=decision, make=False), "its status is shown as before"
    assert cluster_shown(told) == ("w1", None) and answers(told.world, told.world.workloads[KEY])
    told.after(replace(told.world.cluster_queues["cq"], stop=StopPolicy.HOLD_AND_DRAIN))
    run = told.plan.run
    assert run is not None and run.stop.startswith("Evicted on manager: "), "it stops there before it goes"
    told.after(PodsGone(workload=KEY, decision=f"LOG_0/{told.world.workloads[KEY].stops.stopped_by}"))
    assert told.plan.remove == (("w1", "copy-w1"),), "it has lost its quota"


def test_what_runs_elsewhere_runs_on_while_its_check_is_gone_and_ends_there() -> None:
    told = running()
    told.after(ObjectRemoved(kind="AdmissionCheck", namespace="", name="mk"))
    assert told.plan.run is not None and not told.plan.remove
    told.after(WorkloadFinished(workload=KEY, reason="Succeeded"))
    assert told.plan.remove == (("w1", "copy-w1"),)


def test_pods_that_run_elsewhere_keep_their_gates_here_when_their_queue_asks_for_no_such_check_any_more() -> None:
    told = Manager()
    submitted = delegated(kind="Pod", api_version="v1")
    members = (Member(name="a", uid="a", pod_set="main", state=MemberState.GATED),)
    told.after(replace(submitted, spec=replace(submitted.spec, members=members)))
    told.copy("w1", QuotaReserved=1, Admitted=5)
    told.synced()
    another_check(told)
    (found,) = applications(told.world, "LOG_0", [KEY])
    assert told.world.workloads[KEY].admitted and not found.run and not found.gate


def test_a_job_that_was_not_there_yet_is_tried_nowhere_when_its_queue_asks_for_no_such_check_any_more() -> None:
    told = Manager()
    told.after(delegated())
    told.copy("w1", QuotaReserved=1, Admitted=5)
    another_check(told)
    assert told.plan.remove == (("w1", "copy-w1"),) and told.plan.run is None


def test_an_elastic_job_whose_next_slice_waits_runs_on_when_its_queue_asks_for_no_such_check_any_more() -> None:
    told = Growing()
    key = told.grown()
    another_check(told)
    assert not told.plan_of(key).remove and not told.plan.remove
    run = told.plan_of(key).run
    assert run is not None and run.cluster == "w1" and not run.make
