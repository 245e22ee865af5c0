"""A random day on a small platform: preemption, lost nodes, failing cards, thieves, late facts; told as a log."""

import hashlib
import random
from collections.abc import Callable

from msgspec.structs import replace

from events.billing import AccountsSet, CorrectionEntered, ExchangeRateSet, LineKind, Meter, Price, PriceListSet
from events.card import Card, CardShare
from events.catalogue import AnyEvent, Decision
from events.codec import encode
from events.commit import Commit, InputRun, Sighting
from events.control import ObjectRemoved
from events.device import DevicesRegistered, NodeObserved, PodObserved
from events.hash_chain import GENESIS
from events.quota import (
    AdmissionCheckObserved,
    CheckRule,
    CohortObserved,
    FlavorObserved,
    LocalQueueObserved,
    NamespaceObserved,
    PreemptionPolicy,
)
from events.subjects import CONTROL, FACTS
from events.workload import CheckReported, CheckState, CheckStatus, PodsGone, WorkloadFinished
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from services.accountant.decide import Accountant
from services.admitter.decide import Admitter
from services.preemptor.decide import Preemptor
from services.queue_manager.decide import QueueManager
from services.runtime.log_port import Entry
from services.runtime.partition.host import Decider
from tests.laws.stop_of_pods import stop_of
from tests.stories.small_world import job, queue

PARTITION, DEVICES, TICK = "LOG_0", "DEVICES_default", 10
DAY_BEGINS = 1_795_000_000_000
MOST_ROUNDS = 20
"""Whether deciders come to rest is another law's question: a log is billed however far it goes."""
Watcher = Callable[[World, int, AnyEvent | None], None]
"""Sees the world as it was until a time, and each event that is folded then."""


class Day:
    """Told and decided as in a story, and written down as a log."""

    def __init__(self, seed: int, watcher: Watcher) -> None:
        self.chance = random.Random(seed)
        self.world, self.at, self.watcher = World(), DAY_BEGINS, watcher
        self.entries: dict[str, list[Entry]] = {CONTROL: [], FACTS: [], PARTITION: [], DEVICES: []}
        self.deciders: list[Decider] = [QueueManager(), Admitter(), Preemptor(), Accountant()]
        self.jobs = self.thieves = 0
        self.state = {name: {"ready": True, "bad": set[int](), "cordoned": set[int]()} for name in ("n1", "n2")}

    def fold(self, event: AnyEvent, position: LogPosition) -> None:
        self.watcher(self.world, position.at, event)
        evolve(self.world, event, position)
        self.watcher(self.world, position.at, None)

    def pass_time(self, ms: int) -> None:
        self.at += ms
        self.watcher(self.world, self.at, None)
        self.world.advance(self.at)

    def tell(self, fact: AnyEvent, late: int = 0) -> None:
        """A fact; a late one bears a time before that of the fact ahead of it."""
        if not late:
            self.pass_time(TICK)
        sequence = len(self.entries[FACTS]) + 1
        sighting = Sighting(id=str(sequence), at=self.at - late, author="watcher", fact=fact)  # type: ignore[arg-type]
        self.write(FACTS, encode(sighting))
        self.fold(fact, LogPosition(partition=FACTS, sequence=sequence, at=self.at))

    def operate(self, event: PriceListSet | ExchangeRateSet | AccountsSet | CorrectionEntered) -> None:
        self.write(CONTROL, encode(self.commit(CONTROL, (event,), (), "operator")))

    def decide(self) -> None:
        for _ in range(MOST_ROUNDS):
            spoke = False
            for decider in self.deciders:
                partition, other = (DEVICES, PARTITION) if decider.name == "accountant" else (PARTITION, DEVICES)
                place = LogPosition(partition=partition, sequence=len(self.entries[partition]) + 1, at=self.at)
                mark = self.world.mark()
                events = decider.decide(self.world, place)
                self.world.take_back(mark)
                if events:
                    spoke = True
                    runs = tuple(InputRun(stream=name, upto=len(self.entries[name])) for name in (FACTS, other))
                    self.write(partition, encode(self.commit(partition, tuple(events), runs, decider.name)))
                    for event in events:
                        self.fold(event, place)
            if not spoke:
                self.world.leave_cards()
                break
        self.world.settle()

    def commit(self, stream: str, events: tuple[Decision, ...], inputs: tuple[InputRun, ...], author: str) -> Commit:
        have = self.entries[stream]
        before = hashlib.sha256(have[-1].data).hexdigest() if have else GENESIS
        return Commit(
            id=f"{stream}{len(have)}",
            prev_hash=before,
            partition=stream,
            base=len(have),
            inputs=inputs,
            author=author,
            epoch=0,
            rules="1",
            at=self.at,
            events=events,
        )

    def write(self, stream: str, data: bytes) -> None:
        have = self.entries[stream]
        have.append(Entry(stream=stream, sequence=len(have) + 1, subject="", message_id="", data=data))

    def begin(self) -> None:
        self.operate(prices("first", starts=DAY_BEGINS - 1000, factor=1))
        lower = PreemptionPolicy.LOWER_PRIORITY
        for fact in (
            NamespaceObserved(name="team"),
            FlavorObserved(name="v100", node_labels={"card": "v100"}),
            CohortObserved(name="all"),
            queue("cq", nominal=3, within=lower, reclaim=PreemptionPolicy.ANY, cohort="all"),
            AdmissionCheckObserved(name="slow", controller="somebody.else"),
            replace(
                queue("other", nominal=3, within=lower, reclaim=PreemptionPolicy.ANY, cohort="all"),
                checks=(CheckRule(name="slow"),),
            ),
            LocalQueueObserved(namespace="team", name="lq", cluster_queue="cq"),
            LocalQueueObserved(namespace="team", name="lq2", cluster_queue="other"),
        ):
            self.tell(fact)
        for node in self.state:
            self.tell(self.node(node))
            self.tell(self.cards(node))

    def node(self, name: str) -> NodeObserved:
        return NodeObserved(name=name, labels={"card": "v100"}, ready=bool(self.state[name]["ready"]))

    def cards(self, name: str) -> DevicesRegistered:
        state = self.state[name]
        bad, cordoned = state["bad"], state["cordoned"]
        assert isinstance(bad, set) and isinstance(cordoned, set)
        return DevicesRegistered(
            node=name,
            cards=tuple(
                Card(uuid=f"{name}-{i}", index=i, slots=4, memory=32768, model="NVIDIA-V100", healthy=i not in bad)
                for i in range(2)
            ),
            cordoned=tuple(f"{name}-{i}" for i in sorted(cordoned)),
        )

    def step(self) -> None:
        """Something happens."""
        self.pass_time(TICK * self.chance.randrange(1, 60))
        what = self.chance.choices(
            (
                self.submit,
                self.ready,
                self.finish,
                self.leave,
                self.lose_node,
                self.fail_card,
                self.thief,
                self.remove_node,
                self.price,
            ),
            (8, 6, 4, 6, 2, 2, 2, 1, 1),
        )[0]
        what()
        self.decide()

    def submit(self) -> None:
        self.jobs += 1
        pick = self.chance.choice
        asked = job(
            f"j{self.jobs}",
            memory=pick((4000, 8000, 16000, 32768)),
            cores=pick((10, 50, 100)),
            count=pick((1, 1, 2)),
            priority=pick((0, 0, 5, 10)),
            queue=pick(("lq", "lq2")),
            at=self.at,
        )
        self.tell(asked)
        if self.chance.random() < 0.2:
            self.tell(self.node("n1"), late=self.chance.randrange(1, 50) * TICK)

    def finish(self) -> None:
        running = [key for key, one in sorted(self.world.workloads.items()) if one.admitted and not one.finished]
        if running:
            self.tell(WorkloadFinished(workload=self.chance.choice(running), reason="Succeeded"))

    def leave(self) -> None:
        """Pods of what was told to stop are gone."""
        for key, one in sorted(self.world.workloads.items()):
            if one.evicted and one.reserved and self.chance.random() < 0.7:
                self.tell(PodsGone(workload=key, decision=stop_of(one, f"{PARTITION}/{one.stops.stopped_by}")))

    def ready(self) -> None:
        """The check of those that wait for it is ready, so that they are admitted later than they hold cards."""
        for key, one in sorted(self.world.workloads.items()):
            if one.reserved and not one.admitted and not one.evicted and self.chance.random() < 0.8:
                self.tell(CheckReported(workload=key, check=CheckStatus(name="slow", state=CheckState.READY)))

    def lose_node(self) -> None:
        name = self.chance.choice(list(self.state))
        self.state[name]["ready"] = not self.state[name]["ready"]
        self.tell(self.node(name))

    def fail_card(self) -> None:
        name = self.chance.choice(list(self.state))
        which = self.state[name][self.chance.choice(("bad", "cordoned"))]
        assert isinstance(which, set)
        which.symmetric_difference_update({self.chance.randrange(2)})
        self.tell(self.cards(name))

    def thief(self) -> None:
        """A pod that no queue manages takes what it likes, or one of a workload takes more than it has, or goes."""
        if self.thieves and self.chance.random() < 0.5:
            self.tell(ObjectRemoved(kind="Pod", namespace="team", name=f"t{self.chance.randrange(self.thieves)}"))
            return
        node, card = self.chance.choice(list(self.state)), self.chance.randrange(2)
        holders = [key for key, one in sorted(self.world.workloads.items()) if one.admitted]
        owner = self.chance.choice(["", *holders])
        share = CardShare(uuid=f"{node}-{card}", vendor="NVIDIA", memory=self.chance.choice((500, 20000)), cores=20)
        self.tell(
            PodObserved(
                namespace="team",
                name=f"t{self.thieves}",
                uid=f"t{self.thieves}",
                node=node,
                phase="Running",
                workload=owner,
                shares=((share,),),
            )
        )
        self.thieves += 1

    def remove_node(self) -> None:
        name = self.chance.choice(list(self.state))
        self.tell(ObjectRemoved(kind="Node", name=name))
        self.pass_time(TICK * self.chance.randrange(1, 30))
        self.tell(self.node(name))
        self.tell(self.cards(name))

    def price(self) -> None:
        self.operate(
            prices("next", starts=self.at + TICK * self.chance.randrange(50), factor=self.chance.randrange(1, 9))
        )


def prices(name: str, *, starts: int, factor: int) -> PriceListSet:
    return PriceListSet(
        name=name,
        currency="EUR",
        starts=starts,
        prices=(
            Price(meter=Meter.MEMORY, unit_price=f"0.0{factor}"),
            Price(meter=Meter.CORES, unit_price=f"{factor}.1234567891", flavor="v100"),
            Price(meter=Meter.EXCLUSIVE, unit_price=f"{factor}.7", model="NVIDIA-V100"),
        ),
        charges=(LineKind.USAGE, LineKind.RESERVATION, LineKind.UNRESERVED),
    )


def a_day(seed: int, watcher: Watcher, steps: int = 36) -> Day:
    day = Day(seed, watcher)
    day.begin()
    day.decide()
    for _ in range(steps):
        day.step()
    day.pass_time(TICK * 100)
    day.tell(NamespaceObserved(name="team"))
    return day
