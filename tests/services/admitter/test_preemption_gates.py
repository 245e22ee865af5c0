import pytest
from msgspec.structs import replace

from events.admission import AdmissionRefused, PreemptionRequested, QuotaReserved, RequeueReason
from events.quota import PreemptionPolicy
from events.settings import SettingsObserved
from events.upkeep import AdmissionGateCleared
from events.workload import GateState, PreemptionGateReported, WorkloadFinished, WorkloadQueued, WorkloadSubmitted
from projections.queues import waiting
from projections.workloads.lifecycle import BLOCKED_ON_GATES, QUOTA_RESERVED
from tests.stories.small_world import Story, job, platform, queue


def gated(name: str, priority: int = 0) -> WorkloadSubmitted:
    found = job(name, priority=priority)
    return replace(found, spec=replace(found.spec, preemption_gates=("first",)))


def one_card(*, looked_at: bool = True) -> Story:
    """Room for one, and a feature by which preemption gates are looked at."""
    settings = SettingsObserved(gates={"MultiKueueOrchestratedPreemption": looked_at})
    within = queue("cq", nominal=1, within=PreemptionPolicy.LOWER_PRIORITY)
    return Story().told(settings, *platform(nominal=1, cards=1), within)


def requested(told: Story) -> list[str]:
    return [event.workload for event in told.decided() if isinstance(event, PreemptionRequested)]


def turned(*, to_open: bool, gate: str = "first") -> PreemptionGateReported:
    return PreemptionGateReported(workload="team/high", gate=GateState(name=gate, open=to_open, since=5))


def test_a_closed_gate_keeps_a_workload_from_preempting_and_says_so() -> None:
    told = one_card().told(job("low"))
    told.decided()
    said = told.told(gated("high", priority=9)).decided()
    assert not [event for event in said if isinstance(event, PreemptionRequested)]
    assert [(event.requeue, event.reason, event.message) for event in said if isinstance(event, AdmissionRefused)] == [
        (RequeueReason.PREEMPTION_GATED, "AdmissionGated", "Workload requires preemption, but it's gated")
    ]


def test_a_gate_holds_back_nobody_who_asks_for_the_same_without_one() -> None:
    told = one_card().told(job("low"))
    told.decided()
    told.told(gated("high", priority=9)).decided()
    said = told.told(job("other", priority=9)).decided()
    assert [event.workload for event in said if isinstance(event, PreemptionRequested)] == ["team/other"]


def test_who_is_blocked_counts_among_those_who_wait_and_is_not_queued_again_when_it_is_looked_at() -> None:
    told = one_card().told(job("low"))
    told.decided()
    told.told(gated("high", priority=9)).decided()
    assert waiting.beside(told.world, "cq") == ["team/high"]
    told.world.review_all()
    assert [event for event in told.decided() if isinstance(event, WorkloadQueued)] == []


def test_a_gate_holds_back_nobody_where_no_feature_looks_at_them() -> None:
    """Nobody would ever open it."""
    told = one_card(looked_at=False).told(job("low"))
    told.decided()
    assert requested(told.told(gated("high", priority=9))) == ["team/high"]


@pytest.mark.parametrize("feature", ["MultiKueueOrchestratedPreemption", "ConcurrentAdmission"])
def test_either_feature_has_gates_looked_at(feature: str) -> None:
    told = one_card(looked_at=False).told(SettingsObserved(gates={feature: True}), job("low"))
    told.decided()
    assert requested(told.told(gated("high", priority=9))) == []


def test_who_is_blocked_preempts_once_somebody_has_opened_its_gates_whatever_they_are_called() -> None:
    told = one_card().told(job("low"))
    told.decided()
    assert requested(told.told(gated("high", priority=9))) == []
    assert requested(told.told(turned(to_open=True, gate="other"))) == [], "it has no such gate"
    assert requested(told.told(turned(to_open=True))) == ["team/high"]


def test_a_gate_that_somebody_closes_again_holds_back_its_workload() -> None:
    told = one_card().told(job("low"))
    told.decided()
    told.told(gated("high", priority=1), turned(to_open=True), turned(to_open=False))
    assert requested(told) == []


def test_an_eviction_closes_the_gates_of_a_workload() -> None:
    told = one_card().told(gated("high", priority=1), turned(to_open=True))
    told.decided()
    told.told(job("low", priority=9)).decided()
    assert not told.world.workloads["team/high"].gates["first"].open


def test_a_gate_is_no_matter_where_there_is_room_without_preemption() -> None:
    said = one_card().told(gated("high", priority=9)).decided()
    assert [event.workload for event in said if isinstance(event, QuotaReserved)] == ["team/high"]


def test_a_workload_behind_a_gate_gets_in_when_room_comes_by_itself() -> None:
    told = one_card().told(job("low"))
    told.decided()
    told.told(gated("high", priority=9)).decided()
    said = told.told(WorkloadFinished(workload="team/low", reason="Succeeded")).decided()
    assert "team/high" in [event.workload for event in said if isinstance(event, QuotaReserved)]


def test_a_closed_preemption_gate_is_not_told_as_an_admission_gate_that_was_cleared() -> None:
    told = one_card().told(job("low"))
    told.decided()
    said = told.told(gated("high", priority=9)).decided()
    assert not [event for event in said if isinstance(event, AdmissionGateCleared)]
    found = told.world.workloads["team/high"]
    words = ("AdmissionGated", "Workload requires preemption, but it's gated")
    shown = {
        name: (one.reason, one.message) for name in (QUOTA_RESERVED, BLOCKED_ON_GATES) if (one := found.condition(name))
    }
    assert shown == {QUOTA_RESERVED: words, BLOCKED_ON_GATES: ("PreemptionGated", words[1])}
