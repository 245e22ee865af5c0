"""Whatever comes and goes beside it: no job ever runs as two variants, holds quota in its own name, or loses any."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from events.quota import CheckRule, ConcurrentAdmission, MigrationMode, PreemptionPolicy
from events.workload import CheckReported, CheckState, CheckStatus, PodsGone, WorkloadFinished, WorkloadSwitched
from projections.log_position import LogPosition
from projections.workloads.variants import BETWEEN_GATES, acting_variant, variants_of
from projections.world import World
from services.runtime.partition.host import Decider
from tests.laws.stop_of_pods import stop_of
from tests.stories.small_world import Story
from tests.stories.test_variants import job, platform, queue

NAMES = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("submit", "finish", "gone", "on", "off")), NAMES),
        st.tuples(st.sampled_from(("ready", "retry", "rejected")), NAMES),
        st.tuples(st.just("later"), st.just("")),
    ),
    max_size=16,
)
POLICIES = st.sampled_from(
    (
        ConcurrentAdmission(),
        ConcurrentAdmission(mode=MigrationMode.RETAIN_FIRST_ADMISSION),
        ConcurrentAdmission(last_acceptable="on-demand"),
    )
)


class Watched(Story):
    """A story that is looked at behind every commit."""

    def _checked(self, decider: Decider, position: LogPosition) -> list[object]:
        found = super()._checked(decider, position)
        runs_once(self.world)
        return found


def runs_once(world: World) -> None:
    used: dict[str, int] = {}
    for key, one in world.workloads.items():
        if key in world.variants:
            assert not one.reserved and not one.line, f"{key} has variants and holds or waits itself"
            admitted = [each.key for each in variants_of(world, key) if each.admitted]
            assert len(admitted) <= 1, f"one job runs as {admitted}"
        if one.admission is not None and not one.finished:
            for given_ in one.admission.assignments:
                used[given_.flavors["cpu"]] = used.get(given_.flavors["cpu"], 0) + given_.usage["cpu"]
    held = world.quota.usage_by_name(world.quota.queues["cq"])
    assert {name: amount for (name, _), amount in held.items() if amount} == used
    assert all(amount <= 10 for amount in used.values())


def play(told: Story, step: tuple[str, str]) -> None:
    what, name = step
    key = f"team/{name}"
    acting = acting_variant(told.world, key)
    match what:
        case "submit":
            told.told(job(name, at=told.at, priority=ord(name)))
        case "finish" if key in told.world.workloads:
            told.told(WorkloadFinished(workload=key, reason="Succeeded"))
        case "gone" if acting is not None and acting.evicted:
            told.told(PodsGone(workload=key, decision=stop_of(acting, f"LOG_0/{acting.stops.stopped_by}")))
        case "on" | "off" if key in told.world.workloads:
            told.told(WorkloadSwitched(workload=key, active=what == "on"))
        case "ready" | "retry" | "rejected":
            state = {"ready": CheckState.READY, "retry": CheckState.RETRY, "rejected": CheckState.REJECTED}[what]
            for one in variants_of(told.world, key):
                if one.reserved and one.checks:
                    told.told(CheckReported(workload=one.key, check=CheckStatus(name="nodes", state=state)))
        case "later":
            told.at += BETWEEN_GATES
        case _:
            pass


@settings(max_examples=40, deadline=None)
@given(STEPS, POLICIES)
@example([("submit", "d"), ("submit", "b"), ("ready", "b"), ("gone", "b")], ConcurrentAdmission())
@example([("submit", "b"), ("submit", "d"), ("later", ""), ("gone", "b"), ("finish", "d")], ConcurrentAdmission())
def test_no_job_ever_runs_as_two_variants(steps: list[tuple[str, str]], policy: ConcurrentAdmission) -> None:
    checks = (CheckRule(name="nodes", flavors=("on-demand",)),)
    told = Watched().told(*platform(queue(policy, checks=checks, within=PreemptionPolicy.LOWER_PRIORITY)))
    for step in steps:
        play(told, step)
        told.decided()
