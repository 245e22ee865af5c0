"""Pods that run elsewhere show it here, and wait here again once they run nowhere.

Rule: docs/rules/multikueue.md#status
"""

from msgspec.structs import replace

from events.application import DecisionApplied
from events.multikueue import RemoteWorkloadGone
from events.workload import Member, MemberState, WorkloadChanged, WorkloadSubmitted
from services.jobs.kinds.table import POD
from services.multikueue.objects import parked_patch
from tests.services.multikueue.test_rules import KEY, Manager, delegated

GATED = [{"name": "kueue.x-k8s.io/admission"}]
RUNS = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def pod(state: MemberState) -> WorkloadSubmitted:
    found = delegated(kind="Pod", api_version="v1")
    members = (Member(name="a", uid="uid-a", pod_set="main", state=state),)
    return replace(found, spec=replace(found.spec, members=members))


def seen(state: MemberState) -> WorkloadChanged:
    return WorkloadChanged(workload=KEY, spec=pod(state).spec)


def stopped_before_it_was_seen_to_run() -> Manager:
    """A pod that ran in w1, whose copy was evicted there: that it ran is seen here only when nothing runs any more."""
    told = Manager()
    told.after(pod(MemberState.GATED))
    told.copy("w1", QuotaReserved=1, Admitted=5)
    told.synced()
    told.copy("w1", QuotaReserved=1, Admitted=5, Evicted=6)
    evicted = told.world.workloads[KEY]
    assert evicted.evicted
    told.after(DecisionApplied(workload=KEY, partition="LOG_0", sequence=evicted.stops.stopped_by))
    assert not told.world.workloads[KEY].evicted, "nothing of it runs, as far as is known: it is let in again"
    return told


def test_a_pod_that_runs_nowhere_any_more_and_is_seen_only_then_to_have_run_waits_here_again() -> None:
    told = stopped_before_it_was_seen_to_run()
    told.after(seen(MemberState.LIVE))
    assert told.plan.remove == (("w1", "copy-w1"),) and not told.plan.park, "it may run there still"
    told.after(RemoteWorkloadGone(cluster="w1", workload=KEY))
    assert told.plan.make == ("w1", "w2") and told.plan.park
    told.copy("w1")
    assert told.plan.park and told.plan.elsewhere == ("w2",), "that copy is not chosen: nothing runs by it"
    told.after(seen(MemberState.GATED))
    assert not told.plan.park


def test_a_pod_whose_gate_somebody_has_taken_away_shows_what_its_kubelet_says() -> None:
    here = {"metadata": {"name": "a"}, "spec": {"schedulingGates": GATED}, "status": RUNS}
    assert parked_patch(POD, here, 0) is not None
    assert parked_patch(POD, {**here, "spec": {}}, 0) is None
