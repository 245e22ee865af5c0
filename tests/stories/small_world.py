"""A small platform without bus or cluster: facts are folded, deciders take turns, until nobody has anything to say."""

import hashlib

from events.card import Card
from events.catalogue import AnyEvent, Decision
from events.codec import encode
from events.device import DevicesRegistered, NodeObserved
from events.pod_set import ContainerShape, PodSet, PodShape
from events.quota import (
    ClusterQueueObserved,
    FlavorObserved,
    FlavorQuotas,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionPolicy,
    PreemptionRules,
    Quota,
    ResourceGroup,
)
from events.selector import LabelSelector
from events.workload import Owner, PodsGone, WorkloadFinished, WorkloadSpec, WorkloadSubmitted
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.state_hash import state_hash
from projections.world import World
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager
from services.runtime.partition.host import Decider
from tests.laws.stop_of_pods import stop_of

GPU, MEMORY, CORES = "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores"


class Story:
    """A world, what was told and what was decided."""

    def __init__(self, *, unchecked: bool = False, forgetful: bool = False) -> None:
        self.unchecked, self.forgetful = unchecked, forgetful
        """Whether decisions simply stand, as on a partition, and whether every hint is forgotten before each, as in a replay."""
        self.world = World()
        self.decisions: list[Decision] = []
        self.facts = self.commits = 0
        self.at = 1000
        self.deciders: list[Decider] = [QueueManager(), Admitter(), Preemptor(), Accountant()]

    def told(self, *facts: AnyEvent) -> "Story":
        for fact in facts:
            self.facts += 1
            self.at += 10
            evolve(self.world, fact, LogPosition(partition="FACTS", sequence=self.facts, at=self.at))
        return self

    def decided(self) -> list[Decision]:
        """Let all deciders speak until they are quiet; what they said."""
        said: list[Decision] = []
        self.world.advance(self.at)
        for _ in range(200):
            spoke = False
            for decider in self.deciders:
                if self.forgetful:
                    self.world.review_all()
                place = LogPosition(partition="LOG_0", sequence=self.commits + 1, at=self.at)
                events = decider.decide(self.world, place) if self.unchecked else self._checked(decider, place)
                if events:
                    spoke = True
                    self.commits += 1
                    said.extend(events)
            if not spoke:
                self.world.leave_cards()
                self.decisions.extend(said)
                return said
        raise AssertionError("the deciders never come to rest")

    def later(self, millis: int) -> list[Decision]:
        """What they say when so much time has passed."""
        self.at += millis
        return self.decided()

    def _checked(self, decider: Decider, position: LogPosition) -> list[Decision]:
        before, mark = state_hash(self.world), self.world.mark()
        events = decider.decide(self.world, position)
        after = state_hash(self.world)
        self.world.take_back(mark)
        assert state_hash(self.world) == before, "a decision that does not stand leaves no trace"
        for event in events:
            evolve(self.world, event, position)
        assert state_hash(self.world) == after, "what was decided is what is folded"
        return events


def platform(
    *, nominal: int = 8, cards: int = 4, within: PreemptionPolicy = PreemptionPolicy.LOWER_PRIORITY, cohort: str = ""
) -> list[AnyEvent]:
    return [
        NamespaceObserved(name="team"),
        FlavorObserved(name="v100", node_labels={"card": "v100"}),
        queue("cq", nominal=nominal, within=within, cohort=cohort),
        LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
        NodeObserved(name="n1", labels={"card": "v100"}),
        DevicesRegistered(
            node="n1",
            cards=tuple(
                Card(uuid=f"GPU-{i}", index=i, slots=10, memory=32768, model="NVIDIA-V100") for i in range(cards)
            ),
        ),
    ]


def queue(
    name: str,
    *,
    nominal: int,
    within: PreemptionPolicy = PreemptionPolicy.NEVER,
    reclaim: PreemptionPolicy = PreemptionPolicy.NEVER,
    cohort: str = "",
) -> ClusterQueueObserved:
    return ClusterQueueObserved(
        name=name,
        cohort=cohort,
        namespaces=LabelSelector(),
        preemption=PreemptionRules(within_cluster_queue=within, reclaim_within_cohort=reclaim),
        groups=(
            ResourceGroup(
                resources=(GPU, MEMORY, CORES),
                flavors=(
                    FlavorQuotas(
                        flavor="v100",
                        quotas=(
                            Quota(resource=GPU, nominal=nominal),
                            Quota(resource=MEMORY, nominal=nominal * 16384),
                            Quota(resource=CORES, nominal=nominal * 50),
                        ),
                    ),
                ),
            ),
        ),
    )


def job(
    name: str,
    *,
    memory: int = 16000,
    cores: int = 50,
    count: int = 1,
    priority: int = 0,
    queue: str = "lq",
    at: int = 0,
    cards: int = 1,
) -> WorkloadSubmitted:
    shape = PodShape(containers=(ContainerShape(name="main", limits={GPU: cards, MEMORY: memory, CORES: cores}),))
    return WorkloadSubmitted(
        workload=f"team/{name}",
        uid=f"uid-{name}",
        owner=Owner(kind="Job", name=name, uid=f"uid-{name}"),
        created_at=at,
        spec=WorkloadSpec(queue=queue, priority=priority, pod_sets=(PodSet(name="main", count=count, shape=shape),)),
    )


def gone(told: Story, name: str) -> Story:
    """The pods of a workload that was stopped are gone."""
    stopped = told.world.workloads[f"team/{name}"].stops.stopped_by
    return told.told(PodsGone(workload=f"team/{name}", decision=f"LOG_0/{stopped}"))


def story() -> Story:
    """Queueing, refusal, preemption, release and return, all in one."""
    told = Story().told(*platform(nominal=4, cards=2))
    told.told(job("a"), job("b", count=2), job("c"), job("giant", memory=60000)).decided()
    told.told(job("urgent", priority=100)).decided()
    for key, workload in sorted(told.world.workloads.items()):
        if workload.evicted and workload.reserved:
            told.told(PodsGone(workload=key, decision=stop_of(workload, f"LOG_0/{workload.stops.stopped_by}")))
    told.decided()
    for key in ("team/a", "team/b", "team/urgent"):
        if told.world.workloads[key].admitted and not told.world.workloads[key].evicted:
            told.told(WorkloadFinished(workload=key, reason="Succeeded"))
            told.decided()
    return told


def decided_bytes() -> str:
    """All decisions of the story and the state at its end, as text."""
    told = story()
    text = b"\n".join(encode(event) for event in told.decisions)
    return f"{text.decode()}\n{hashlib.sha256(text).hexdigest()}\n{state_hash(told.world)}"
