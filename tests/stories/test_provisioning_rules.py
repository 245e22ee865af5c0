"""What the autoscaler's answers mean: decided from facts, with neither bus nor cluster.

Rule: docs/rules/checks.md#provisioning
"""

from msgspec.structs import replace

from events.admission import QuotaReserved, WorkloadAdmitted
from events.api.check_controllers import PROVISIONING as CONTROLLER
from events.catalogue import AnyEvent
from events.control import ObjectProblem, ObjectRefused, ObjectRemoved
from events.pod_set import PodSet
from events.preemption import PreemptionOrdered
from events.provisioning import (
    Answer,
    PodSetCount,
    ProvisioningConfigObserved,
    ProvisioningDropped,
    ProvisioningOrdered,
    ProvisioningRejected,
    ProvisioningRequestObserved,
    SelectorFromDetail,
)
from events.quota import AdmissionCheckObserved, CheckParameters, CheckRule
from events.upkeep import BackoffSet, CheckSettled, DeactivationOrdered
from events.workload import (
    CheckReported,
    CheckState,
    CheckStatus,
    EvictionOrdered,
    PodSetUpdate,
    PodsGone,
    WorkloadFinished,
    WorkloadSwitched,
)
from projections.checks.provisioning import of_no_use, request_name, template_name
from projections.explanation.life import Life
from projections.log_position import LogPosition
from projections.queues.active_condition import check_active, cluster_queue_active
from projections.snapshot import tables_of, world_of
from projections.state_hash import state_hash
from projections.workloads.lifecycle import Workload
from services.queue_manager.provisioning import INACTIVE, NOT_NEEDED
from tests.stories.small_world import GPU, Story, job, platform, queue

PARAMETERS = CheckParameters(group="kueue.x-k8s.io", kind="ProvisioningRequestConfig", name="config")
CHECK = AdmissionCheckObserved(name="nodes", controller=CONTROLLER, parameters=PARAMETERS)
CONFIG = ProvisioningConfigObserved(
    name="config",
    class_name="check-capacity.autoscaling.x-k8s.io",
    parameters={"Zone": "a"},
    selectors=(SelectorFromDetail(key="pool", detail="NodePool"), SelectorFromDetail(key="rack", detail="Rack")),
)
UNTIL_NOON = "2 nodes are expected at 12:00"


class Provisioned(Story):
    """A queue that asks for nodes, and an autoscaler that answers when it is told to."""

    def __init__(self, *, config: ProvisioningConfigObserved | None = CONFIG, nominal: int = 8) -> None:
        super().__init__()
        wanted = replace(queue("cq", nominal=nominal), checks=(CheckRule(name="nodes"),))
        self.told(*platform(nominal=nominal), *([config] if config is not None else []), CHECK, wanted)

    @property
    def workload(self) -> Workload:
        return self.world.workloads["team/a"]

    @property
    def check(self) -> tuple[CheckState, str]:
        found = self.workload.checks["nodes"]
        return found.state, found.message

    def after(self, *facts: AnyEvent) -> list[AnyEvent]:
        self.told(*facts)
        return list(self.decided())

    def answer(self, *, details: dict[str, str] | None = None, **answers: str) -> list[AnyEvent]:
        """The request that was ordered last stands so."""
        asked = self.workload.provisioning["nodes"]
        return self.after(seen(asked.order, asked.decision, details=details or {}, **answers))


def seen(
    order: ProvisioningOrdered, decision: str, *, details: dict[str, str] | None = None, **answers: str
) -> ProvisioningRequestObserved:
    """Answers that begin with `not:` are those of a condition that is False."""
    return ProvisioningRequestObserved(
        namespace="team",
        name=order.request,
        uid=f"uid-{decision}",
        workload=order.workload,
        class_name=order.class_name,
        parameters={**order.parameters, **order.own_parameters},
        answers={
            kind: Answer(true=not text.startswith("not:"), message=text.removeprefix("not:"))
            for kind, text in answers.items()
        },
        details=details or {},
        decision=decision,
    )


def begun(**changes: object) -> Provisioned:
    told = Provisioned(config=replace(CONFIG, **changes))
    told.after(job("a"))
    return told


def kinds(said: list[AnyEvent]) -> list[str]:
    return [type(event).__name__ for event in said]


def test_who_holds_quota_is_asked_for_under_kueue_s_name_and_waits() -> None:
    told = Provisioned()
    submitted = job("a", count=2)
    spec = replace(submitted.spec, provisioning={"Zone": "b", "ValidUntilSeconds": "60"})
    said = told.after(replace(submitted, spec=spec))
    (order,) = [event for event in said if isinstance(event, ProvisioningOrdered)]
    assert order == ProvisioningOrdered(
        workload="team/a",
        check="nodes",
        request="a-nodes-1",
        attempt=1,
        class_name=CONFIG.class_name,
        parameters={"Zone": "a"},
        own_parameters={"Zone": "b", "ValidUntilSeconds": "60"},
        pod_sets=(PodSetCount(name="main", count=2),),
    )
    assert told.check == (CheckState.PENDING, "") and not told.workload.admitted
    assert template_name(order.request, "main") == "ppt-a-nodes-1-main"
    assert ("ProvisioningRequestCreated", 'Created ProvisioningRequest: "a-nodes-1"') in [
        (one.reason, one.message) for one in told.workload.in_cluster.news
    ]


def test_a_name_that_is_too_long_ends_in_a_digest() -> None:
    name = request_name("w" * 200, "c" * 60, 12)
    assert name == f"{'w' * 200}-{'c' * 46}-a9bed", "five digits of the SHA-1 of all of it"
    assert name != request_name("w" * 200, "c" * 60, 13)
    assert request_name("w" * 200, "c" * 43, 12) == f"{'w' * 200}-{'c' * 43}-12", "no longer than it may be"


def test_it_is_told_when_nodes_are_expected_and_let_in_when_they_are_there() -> None:
    told = begun()
    assert told.answer() == []
    said = told.answer(Accepted="", Provisioned=f"not:{UNTIL_NOON}")
    assert kinds(said) == ["CheckSettled"] and told.check == (CheckState.PENDING, UNTIL_NOON)
    assert told.answer(Accepted="", Provisioned=f"not:{UNTIL_NOON}") == [], "nothing is told again while it stays so"
    said = told.answer(Accepted="", Provisioned="there", details={"NodePool": "p7"})
    assert kinds(said) == ["CheckSettled", "WorkloadAdmitted"]
    assert told.check == (CheckState.READY, "there")
    assert told.workload.checks["nodes"].updates == (
        PodSetUpdate(
            name="main",
            annotations={
                "autoscaling.x-k8s.io/consume-provisioning-request": "a-nodes-1",
                "autoscaling.x-k8s.io/provisioning-class-name": CONFIG.class_name,
            },
            node_selector={"pool": "p7"},
        ),
    ), "a detail that is not told is left out"
    assert (
        "AdmissionCheckUpdated",
        "Admission check nodes updated state from Pending to Ready with message: there",
    ) in [(one.reason, one.message) for one in told.workload.in_cluster.news]


def test_what_failed_is_tried_again_ever_later_under_the_next_number_and_rejected_at_the_limit() -> None:
    told = begun(backoff_limit=2, backoff_base=60_000, backoff_max=90_000)
    for attempt, wait in ((1, 60_000), (2, 90_000)):
        assert told.workload.provisioning["nodes"].order.request == f"a-nodes-{attempt}"
        said = told.answer(Failed="no capacity")
        assert kinds(said)[:3] == ["CheckSettled", "BackoffSet", "EvictionOrdered"]
        settled, backoff, evicted = said[:3]
        assert isinstance(settled, CheckSettled) and isinstance(backoff, BackoffSet)
        assert (
            settled.check.state is CheckState.RETRY and settled.check.message == "Retrying after failure: no capacity"
        )
        assert settled.check.requeue_after == wait and backoff.until == told.at + wait
        assert isinstance(evicted, EvictionOrdered) and evicted.reason == "AdmissionCheck"
        assert told.workload.checks["nodes"].retries == attempt and not told.workload.reserved
        assert not told.workload.provisioning, "what failed is asked for no more"
        assert [one.name for one in of_no_use(told.world, told.workload)][-1:] == [f"a-nodes-{attempt}"]
        assert told.later(wait - 1) == []
        assert "ProvisioningOrdered" in kinds(told.later(1))
    assert told.workload.provisioning["nodes"].order.request == "a-nodes-3"
    said = told.answer(Failed="still none")
    assert kinds(said)[:2] == ["CheckSettled", "DeactivationOrdered"]
    deactivation = said[1]
    assert isinstance(deactivation, DeactivationOrdered) and deactivation.cause == "AdmissionCheck"
    assert "still none" in deactivation.message and not told.workload.spec.active
    assert told.later(10_000_000) == [], "nothing is tried any more"
    said = told.after(WorkloadSwitched(workload="team/a", active=True))
    assert told.workload.provisioning["nodes"].order.attempt == 3, "the count goes on, as Kueue has it"


def test_a_booking_that_expires_before_admission_is_made_again() -> None:
    told = begun()
    said = told.answer(Provisioned="not:soon", BookingExpired="took too long")
    assert isinstance(said[0], CheckSettled)
    assert said[0].check.message == "Retrying after booking expired: took too long"
    assert "EvictionOrdered" in kinds(said)


def test_a_booking_that_expires_after_admission_is_no_loss() -> None:
    told = begun()
    told.answer(Provisioned="there")
    assert told.workload.admitted
    assert told.answer(Provisioned="there", BookingExpired="over") == []


def test_revoked_capacity_deactivates_who_runs_and_nobody_who_has_finished() -> None:
    told = begun()
    told.answer(Provisioned="there")
    ended = begun()
    ended.answer(Provisioned="there")
    asked = ended.workload.provisioning["nodes"]
    ended.after(WorkloadFinished(workload="team/a", reason="Succeeded"))
    assert ended.after(seen(asked.order, asked.decision, CapacityRevoked="gone")) == []
    said = told.answer(Provisioned="there", CapacityRevoked="the nodes are gone")
    assert kinds(said)[:3] == ["CheckSettled", "DeactivationOrdered", "WorkloadDeactivated"]
    assert "EvictionOrdered" in kinds(said) and told.workload.evicted
    assert "the nodes are gone" in (told.workload.conditions["Evicted"].message)


def test_who_asks_for_nothing_that_is_managed_is_let_in_at_once() -> None:
    told = begun(managed_resources=("example.com/other",))
    assert told.check == (CheckState.READY, NOT_NEEDED)
    assert told.workload.admitted and not told.workload.provisioning


def test_only_pod_sets_that_ask_for_what_is_managed_are_asked_for() -> None:
    told = Provisioned(config=replace(CONFIG, managed_resources=(GPU,)))
    submitted = job("a")
    (main,) = submitted.spec.pod_sets
    light = PodSet(name="light", count=3, shape=replace(main.shape, containers=()))
    told.after(replace(submitted, spec=replace(submitted.spec, pod_sets=(light, main))))
    assert told.workload.provisioning["nodes"].order.pod_sets == (PodSetCount(name="main", count=1),)
    told.answer(Provisioned="there")
    assert [one.name for one in told.workload.checks["nodes"].updates] == ["main"]


def test_two_pod_sets_are_asked_for_together_and_both_take_what_comes() -> None:
    told = Provisioned()
    submitted = job("a")
    (main,) = submitted.spec.pod_sets
    both = (main, replace(main, name="workers", count=2))
    told.after(replace(submitted, spec=replace(submitted.spec, pod_sets=both)))
    assert told.workload.provisioning["nodes"].order.pod_sets == (
        PodSetCount(name="main", count=1),
        PodSetCount(name="workers", count=2),
    )
    told.answer(Provisioned="there")
    assert [one.name for one in told.workload.checks["nodes"].updates] == ["main", "workers"]


def test_a_check_without_its_configuration_is_inactive_with_kueue_s_reason_and_so_is_the_queue() -> None:
    told = Provisioned(config=None)
    told.after(job("a"))
    standing = check_active(told.world, "nodes")
    assert (standing.active, standing.reason) == (False, "BadParametersRef")
    assert standing.message == 'ProvisioningRequestConfig.kueue.x-k8s.io "config" not found'
    assert cluster_queue_active(told.world, "cq").reason == "AdmissionCheckInactive"
    assert not told.workload.reserved
    problem = ObjectProblem(field="spec.retryStrategy.backoffLimitCount", message="-1 is negative")
    told.after(
        ObjectRefused(kind="ProvisioningRequestConfig", namespace="", name="config", uid="u", problems=(problem,))
    )
    assert "can't be read: spec.retryStrategy.backoffLimitCount: -1 is negative" in (
        check_active(told.world, "nodes").message
    )
    assert "ProvisioningOrdered" in kinds(told.after(CONFIG))
    assert check_active(told.world, "nodes").active


def test_parameters_that_point_elsewhere_are_named() -> None:
    for parameters, message in (
        (None, "missing parameters reference"),
        (replace(PARAMETERS, name=""), "empty name: bad parameters reference"),
        (replace(PARAMETERS, group="x"), 'wrong group "x", expecting "kueue.x-k8s.io": bad parameters reference'),
        (
            replace(PARAMETERS, kind="X"),
            'wrong kind "X", expecting "ProvisioningRequestConfig": bad parameters reference',
        ),
    ):
        told = Provisioned().told(replace(CHECK, parameters=parameters))
        assert check_active(told.world, "nodes").message == message


def test_a_configuration_that_goes_stops_what_is_asked_and_disturbs_nobody_who_runs() -> None:
    gone = ObjectRemoved(kind="ProvisioningRequestConfig", namespace="", name="config")
    told = begun()
    told.answer()
    said = told.after(gone)
    assert kinds(said)[:2] == ["ProvisioningDropped", "CheckSettled"]
    assert isinstance(said[0], ProvisioningDropped) and told.check == (CheckState.PENDING, INACTIVE)
    assert [one.name for one in of_no_use(told.world, told.workload)] == ["a-nodes-1"]
    assert "ProvisioningOrdered" in kinds(told.after(CONFIG))
    running = begun()
    running.answer(Provisioned="there")
    assert running.after(gone) == []
    assert not of_no_use(running.world, running.workload)


def test_another_configuration_asks_anew_while_it_is_pending() -> None:
    told = begun()
    told.answer()
    first = told.workload.provisioning["nodes"].decision
    said = told.after(replace(CONFIG, parameters={"Zone": "c"}))
    assert kinds(said) == ["ProvisioningOrdered"]
    assert told.workload.provisioning["nodes"].order.request == "a-nodes-1"
    assert [one.decision for one in of_no_use(told.world, told.workload)] == [first]
    assert told.after(replace(CONFIG, parameters={"Zone": "c"}, managed_resources=(GPU,))) == []


def test_who_is_preempted_asks_for_nothing_and_what_was_there_for_him_counts_no_more() -> None:
    told = begun()
    told.answer(Provisioned="there")
    asked = told.workload.provisioning["nodes"]
    room = PreemptionOrdered(workload="team/a", preemptor="team/b", reason="InClusterQueue", message="room")
    told.commits += 1
    told.told(room)
    assert [one.name for one in of_no_use(told.world, told.workload)] == ["a-nodes-1"]
    said = told.after(PodsGone(workload="team/a", decision="LOG_0/99"))
    assert "QuotaReserved" in kinds(said) and "WorkloadAdmitted" not in kinds(said)
    again = told.workload.provisioning["nodes"]
    assert again.order.request == "a-nodes-1" and again.decision != asked.decision
    assert told.after(seen(asked.order, asked.decision, Provisioned="there")) == [], "the old one under the same name"
    assert "WorkloadAdmitted" in kinds(told.answer(Provisioned="there again"))


def test_what_the_api_does_not_take_is_told_until_it_does() -> None:
    told = begun()
    why = 'Error creating ProvisioningRequest "a-nodes-1": the cluster knows no ProvisioningRequest'
    said = told.after(ProvisioningRejected(workload="team/a", request="a-nodes-1", message=why))
    assert kinds(said) == ["CheckSettled"] and told.check == (CheckState.PENDING, why)
    told.answer()
    assert told.check == (CheckState.PENDING, "")


def test_what_kueue_had_asked_for_is_heeded_and_not_asked_for_again() -> None:
    told = begun()
    asked = told.workload.provisioning["nodes"]
    theirs = replace(seen(asked.order, "", Failed="none"), name="a-nodes-2")
    fresh = Provisioned()
    fresh.told(replace(theirs, workload="team/a"))
    said = fresh.after(job("a"))
    assert "ProvisioningOrdered" not in kinds(said)
    assert said and any(isinstance(one, CheckSettled) and one.check.state is CheckState.RETRY for one in said)


def test_a_snapshot_keeps_what_was_asked_and_answered() -> None:
    told = begun()
    told.answer(Accepted="", Provisioned=f"not:{UNTIL_NOON}")
    told.world.settle()
    again = world_of(tables_of(told.world))
    assert state_hash(again) == state_hash(told.world)
    assert again.provisioning_of == told.world.provisioning_of


def test_the_order_in_which_things_are_said_is_reserve_ask_settle_admit() -> None:
    told = Provisioned()
    said = told.after(job("a"))
    marks = [type(one) for one in said if isinstance(one, QuotaReserved | ProvisioningOrdered)]
    assert marks == [QuotaReserved, ProvisioningOrdered]
    assert isinstance(told.answer(Provisioned="there")[-1], WorkloadAdmitted)


def test_the_life_of_a_request_can_be_read() -> None:
    told = Provisioned()
    said = told.after(job("a"))
    asked = told.workload.provisioning["nodes"]
    life = Life("provisioningrequest/team/a-nodes-1")
    answered = seen(asked.order, asked.decision, Failed="none")
    for sequence, event in enumerate([*said, answered], 1):
        life.fold(event, LogPosition(partition="LOG_0", sequence=sequence, at=sequence))
    assert [(one.what, one.detail) for one in life.lines] == [
        ("nodes asked for", "a-nodes-1 for 1 pod(s)"),
        ("autoscaler", "a-nodes-1: Failed (none)"),
    ]


def test_what_was_shown_before_a_check_was_settled_takes_nothing_back_when_it_is_heard_late() -> None:
    told = begun()
    told.answer(Provisioned="there")
    ready = told.workload.checks["nodes"]
    first = CheckStatus(name="nodes", state=CheckState.PENDING)
    for mark in ("", f"LOG_0/{ready.decided - 1}"):
        assert told.after(CheckReported(workload="team/a", check=first, decision=mark)) == []
        assert told.workload.checks["nodes"] == ready and told.workload.admitted
