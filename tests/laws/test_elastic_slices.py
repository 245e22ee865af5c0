"""Whatever elastic jobs ask for and whoever comes beside them: no job holds quota or cards twice, at any commit."""

from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from events.device import PodObserved
from events.workload import PodsGone, WorkloadFinished
from projections.log_position import LogPosition
from projections.workloads.lifecycle import chain_of
from projections.world import World
from services.runtime.partition.host import Decider
from tests.laws.stop_of_pods import stop_of
from tests.stories.small_world import Story, job, platform
from tests.stories.test_elastic_slices import elastic, pod, sized

GPU = ("v100", "nvidia.com/gpu")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("size"), st.sampled_from("ab"), st.integers(1, 6)),
        st.tuples(st.just("other"), st.just(""), st.integers(0, 2)),
        st.tuples(st.just("pods"), st.sampled_from("ab"), st.integers(0, 6)),
        st.tuples(st.just("leave"), st.just(""), st.just(0)),
    ),
    max_size=14,
)


class Watched(Story):
    """A story that is looked at behind every commit."""

    def _checked(self, decider: Decider, position: LogPosition) -> list[object]:
        found = super()._checked(decider, position)
        holds_once(self.world)
        return found


def holds_once(world: World) -> None:
    held: Counter[str] = Counter()
    for key, one in world.workloads.items():
        if one.admission is not None and not one.finished and key in world.holders("cq"):
            held[chain_of(one)] += 1
    assert not held or max(held.values()) == 1, f"two slices of one job hold quota: {held}"
    used = sum(
        each.usage["nvidia.com/gpu"]
        for key in world.holders("cq")
        for admission in (world.workloads[key].admission,)
        if admission is not None
        for each in admission.assignments
    )
    node = world.quota.queues["cq"]
    assert used == world.quota.usage_by_name(node).get(GPU, 0) <= 8
    for uuid, use in world.cards.used.items():
        assert use.memory <= 32768, f"{uuid} is given twice"
    for key, one in world.workloads.items():
        if one.devices is not None and not one.finished and one.admission is not None:
            places = [(each.pod_set, each.index) for each in one.devices.placements]
            assert len(set(places)) == len(places), key


@settings(max_examples=60, deadline=None)
@example([("other", "", 0), ("pods", "a", 2), ("size", "a", 1), ("size", "a", 2)])
@given(STEPS)
def test_no_job_ever_holds_quota_or_cards_twice(steps: list[tuple[str, str, int]]) -> None:
    asked = {name: elastic(name, 2, memory=15000) for name in "ab"}
    told = Watched().told(*platform(nominal=8, cards=5), *asked.values())
    told.decided()
    seen: dict[str, PodObserved] = {}
    for number, (what, name, count) in enumerate(steps):
        match what:
            case "size":
                told.told(sized(asked[name], count))
            case "other":
                told.told(job(f"other-{number}", count=2, priority=count))
            case "pods":
                for index in range(count):
                    seen[f"{name}-{index}"] = pod(f"{name}-{index}", owner=f"team/{name}")
                    told.told(seen[f"{name}-{index}"])
            case _:
                _let_go(told)
        told.decided()
        holds_once(told.world)
    for name in "ab":
        told.told(WorkloadFinished(workload=f"team/{name}", reason="Succeeded"))
    told.decided()
    assert not any(one.spec.elastic and not one.finished for one in told.world.workloads.values())


def _let_go(told: Story) -> None:
    """Who was stopped has come to rest."""
    for key, one in sorted(told.world.workloads.items()):
        if one.evicted and one.reserved and not one.finished:
            about = chain_of(one) if one.spec.elastic else key
            told.told(PodsGone(workload=about, decision=stop_of(one, f"LOG_0/{one.stops.stopped_by}")))
