"""Requests for nodes that another manager, or another log, has made for a workload that is taken over.

Rule: docs/rules/adoption.md#requests
"""

from typing import Any

import pytest
from msgspec.structs import replace

from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.provisioning import ProvisioningOrdered, ProvisioningRequestObserved
from events.upkeep import CheckSettled
from events.workload import (
    AdoptedStatus,
    CheckState,
    CheckStatus,
    Condition,
    ConditionStatus,
    DecidedElsewhere,
    EvictionOrdered,
    PodsGone,
    WorkloadSubmitted,
    WorkloadSwitched,
)
from projections.checks.provisioning import of_no_use
from services.applier.provisioning.provisioning_requests import ask
from tests.stories.small_world import job
from tests.stories.test_provisioning_rules import CONFIG, UNTIL_NOON, Provisioned, begun, kinds, seen

PENDING, READY = CheckState.PENDING, CheckState.READY
MAKERS = pytest.mark.parametrize("mark", ["", "LOG_0/2", "LOG_0/990"])
"""Kueue, and logs of before that had got less far, and further, than this one."""


def status(state: CheckState = PENDING, *, reserved: bool = True, retries: int = 0, since: int = 1) -> AdoptedStatus:
    """How a workload was left that holds quota, or waits, and is admitted once its check is ready."""
    true = [*(["QuotaReserved"] if reserved else []), *(["Admitted"] if state is READY else [])]
    check = CheckStatus(name="nodes", state=state, message="as it was left", since=since, retries=retries)
    found = AdoptedStatus(
        conditions=tuple(Condition(type=one, status=ConditionStatus.TRUE, reason=one, since=since) for one in true),
        checks=(check,),
    )
    admission = begun().workload.admission
    assert admission is not None
    return replace(found, cluster_queue="cq", assignments=admission.assignments) if reserved else found


def found(left: AdoptedStatus) -> WorkloadSubmitted:
    return replace(job("a"), adopted=left)


def request(attempt: int = 1, *, mark: str = "", uid: str = "before", **answers: str) -> ProvisioningRequestObserved:
    asked = begun().workload.provisioning["nodes"]
    return replace(seen(asked.order, mark, **answers), name=f"a-nodes-{attempt}", uid=uid)


def left(told: Provisioned) -> list[str]:
    """What is deleted, and what is made anew."""
    wanted = ask(told.world, told.workload)
    made = [one.order.request for one in wanted.make] if wanted is not None else []
    return [*(one.uid for one in of_no_use(told.world, told.workload)), *made]


@MAKERS
def test_a_request_of_before_serves_who_runs_and_what_is_said_of_it_is_heard(mark: str) -> None:
    told = Provisioned()
    told.told(request(mark=mark, Provisioned="there"))
    assert told.after(found(status(READY))) == [] and left(told) == []
    said = told.after(request(mark=mark, Provisioned="there", CapacityRevoked="the nodes are gone"))
    assert kinds(said)[:2] == ["CheckSettled", "DeactivationOrdered"] and told.workload.evicted


@MAKERS
def test_a_request_of_before_is_waited_for_and_not_made_anew(mark: str) -> None:
    told = Provisioned()
    told.told(request(mark=mark, Accepted="ok", Provisioned=f"not:{UNTIL_NOON}"))
    assert "ProvisioningOrdered" not in kinds(told.after(found(status())))
    assert told.check == (PENDING, UNTIL_NOON) and left(told) == []
    assert "WorkloadAdmitted" in kinds(told.after(request(mark=mark, Provisioned="there")))


def _taken_over(*between: AnyEvent) -> Provisioned:
    told = begun()
    told.answer(Accepted="", Provisioned=f"not:{UNTIL_NOON}")
    told.at = 100_000
    told.after(*between, DecidedElsewhere(workload="team/a", version=999, status=status(READY, since=78_000)))
    assert told.workload.admitted and not told.workload.provisioning
    return told


def test_a_request_of_ours_by_which_another_manager_let_it_in_stays_and_is_heard() -> None:
    asked = begun().workload.provisioning["nodes"]
    told = _taken_over(seen(asked.order, asked.decision, Provisioned="there"))
    assert left(told) == []
    said = told.after(seen(asked.order, asked.decision, CapacityRevoked="the nodes are gone"))
    assert "DeactivationOrdered" in kinds(said)


def test_of_ours_and_a_later_one_of_another_manager_the_later_one_counts() -> None:
    asked = begun().workload.provisioning["nodes"]
    told = _taken_over(request(2, uid="theirs", Provisioned="there"))
    assert left(told) == [f"uid-{asked.decision}"]
    assert "DeactivationOrdered" in kinds(told.after(request(2, uid="theirs", CapacityRevoked="gone")))


def test_who_was_taken_over_and_lost_its_quota_asks_anew_and_nothing_of_before_lets_it_in() -> None:
    told = Provisioned()
    old = request(mark="LOG_0/2", Provisioned="there")
    told.told(old)
    told.after(found(status(READY)))
    said = told.after(replace(old, answers=request(CapacityRevoked="gone").answers))
    evicted = next(one for one in said if isinstance(one, EvictionOrdered))
    assert left(told) == ["before"] and evicted.workload == "team/a"
    told.after(PodsGone(workload="team/a", decision=f"LOG_0/{told.workload.stops.stopped_by}"))
    assert not told.workload.reserved
    told.after(WorkloadSwitched(workload="team/a", active=True))
    assert told.after(old) == [] and not told.workload.admitted
    assert told.workload.provisioning["nodes"].order.request == "a-nodes-1" and left(told) == ["before", "a-nodes-1"]


def test_a_configuration_that_comes_back_finds_what_was_asked_for_before() -> None:
    told = Provisioned()
    told.told(request(mark="LOG_0/2", Accepted="ok"))
    told.after(found(status()))
    told.after(ObjectRemoved(kind="ProvisioningRequestConfig", namespace="", name="config"))
    assert not any(isinstance(one, ProvisioningOrdered) for one in told.after(CONFIG)) and left(told) == []


def test_a_request_of_kueue_s_that_is_seen_late_answers_what_was_ordered_meanwhile() -> None:
    told = Provisioned()
    assert "ProvisioningOrdered" in kinds(told.after(found(status())))
    told.after(request(Accepted="ok", Provisioned=f"not:{UNTIL_NOON}"))
    assert told.check == (PENDING, UNTIL_NOON) and left(told) == []
    assert "WorkloadAdmitted" in kinds(told.after(request(Provisioned="there")))


@pytest.mark.parametrize(
    "other", [{"class_name": "other"}, {"parameters": {}}, {"workload": "team/b"}, {"decision": "LOG_0/990"}]
)
def test_what_is_seen_late_and_is_not_what_was_ordered_answers_nothing(other: dict[str, Any]) -> None:
    told = Provisioned()
    told.after(found(status()))
    assert told.after(replace(request(Provisioned="there"), **other)) == []
    assert "a-nodes-1" in left(told)


def test_a_request_of_kueue_s_that_was_known_before_the_order_answers_nothing_when_it_is_seen_again() -> None:
    told = Provisioned()
    told.told(request(Accepted="ok"))
    told.after(found(status()))
    told.after(replace(CONFIG, parameters={"Zone": "b"}))
    assert "ProvisioningOrdered" in kinds(told.after(CONFIG)), "it asks for the same as before by now"
    assert told.after(request(Provisioned="there")) == [] and left(told) == ["before", "a-nodes-1"]


@pytest.mark.parametrize("reserved", [True, False])
@pytest.mark.parametrize("answers", [{"Failed": "none"}, {"Provisioned": "not:soon", "BookingExpired": "nobody came"}])
def test_a_failure_that_was_counted_before_is_not_counted_again(reserved: bool, answers: dict[str, str]) -> None:  # noqa: FBT001
    told = Provisioned()
    told.told(request(**answers))
    said = told.after(found(status(reserved=reserved, retries=1)))
    assert not any(isinstance(one, CheckSettled | EvictionOrdered) for one in said)
    assert told.workload.provisioning["nodes"].order.request == "a-nodes-2"
    assert left(told) == ["before", "a-nodes-2"]


def test_a_failure_that_was_counted_before_stops_nobody_who_runs() -> None:
    told = Provisioned()
    told.told(request(Failed="none"))
    assert told.after(found(status(READY, retries=1))) == [] and left(told) == []


def test_a_failure_that_nobody_has_counted_is() -> None:
    told = Provisioned()
    told.told(request(2, Failed="none"))
    said = told.after(found(status(retries=1)))
    assert any(isinstance(one, CheckSettled) and one.check.state is CheckState.RETRY for one in said)
    assert told.workload.checks["nodes"].retries == 2
