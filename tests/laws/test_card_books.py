"""Laws of the books of cards: nothing is lost or counted twice, in whatever order it is told."""

from collections.abc import Callable
from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from events.card import Card, CardShare
from events.catalogue import AnyEvent
from events.control import ObjectRemoved
from events.device import DevicesRegistered, DevicesReleased, DevicesReserved, NodeObserved, PodObserved, PodPlacement
from projections.devices.annotations.allocated_cards import encode_allocation, pod_shares
from projections.devices.card_use import IDLE, effective_use
from projections.devices.holdings.card_time import CardTime
from projections.devices.holdings.drift import all_findings
from projections.devices.placement.gang import place
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.state_hash import state_hash
from projections.world import World
from tests.laws.rebuilt_cards import PodShares, rebuilt
from tests.projections.devices.makers import MODEL, container, gang

gangs = st.builds(
    lambda count, gpu, mem, cores: gang(count, container(gpu=gpu, mem=mem * 4000, cores=cores)),
    st.integers(1, 4),
    st.integers(1, 2),
    st.integers(1, 5),
    st.sampled_from([0, 10, 25, 50, 100]),
)


class Books:
    """A world with two nodes, and workloads that come and go."""

    def __init__(self) -> None:
        self.world, self.at, self.time = World(), 0, CardTime()
        self.reserved: dict[str, tuple[PodPlacement, ...]] = {}
        for node in ("n1", "n2"):
            self.tell(NodeObserved(name=node))
            cards = tuple(Card(uuid=f"{node}-{i}", index=i, slots=5, memory=24000, model=MODEL) for i in range(3))
            self.tell(DevicesRegistered(node=node, cards=cards))

    def tell(self, *events: AnyEvent) -> None:
        for event in events:
            spot = LogPosition(partition="L", sequence=1, at=self.at)
            evolve(self.world, event, spot)
            self.time.fold(event, spot)

    def begin(self, workload: str, wanted: object) -> None:
        found = place(self.world.cards, self.world.nodes, [wanted], self.world.trail)  # type: ignore[list-item]
        if found.placements:
            self.reserved[workload] = found.placements
            self.tell(DevicesReserved(workload=workload, reservation=1, placements=found.placements))

    def end(self, workload: str) -> None:
        del self.reserved[workload]
        self.tell(DevicesReleased(workload=workload, reservation=1, proof="test"))


def pod_of(workload: str, placement: PodPlacement, index: int) -> PodObserved:
    """The pod as the watcher reads it back from what HAMi has written."""
    return PodObserved(
        namespace="team",
        name=f"{workload.partition('/')[2]}-{index}",
        uid=f"{workload}-{index}",
        node=placement.node,
        workload=workload,
        phase="Running",
        shares=pod_shares({"hami.io/vgpu-devices-allocated": encode_allocation(placement.containers)}),
    )


def pods_of(books: Books) -> list[PodObserved]:
    return [
        pod_of(workload, placement, index)
        for workload, placements in books.reserved.items()
        for index, placement in enumerate(placements)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(gangs, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_no_card_ever_holds_more_than_it_has_and_every_release_is_exact(story: list[object], chance: Random) -> None:
    books = Books()
    for number, wanted in enumerate(story):
        before = dict(books.world.cards.used)
        workload = f"team/w{number}"
        books.begin(workload, wanted)
        assert not books.world.cards.overfull(books.world.cards.nodes)
        if workload in books.reserved and chance.random() < 0.3:
            books.end(workload)
            assert {k: v for k, v in books.world.cards.used.items() if v != IDLE} == {
                k: v for k, v in before.items() if v != IDLE
            }
    for workload in chance.sample(sorted(books.reserved), len(books.reserved)):
        books.end(workload)
    assert set(books.world.cards.used.values()) <= {IDLE}
    assert not any(books.world.cards.stakes.values())


def _effective(pod: PodObserved) -> tuple[CardShare, ...]:
    """What a pod takes of each card, as one share."""
    return tuple(
        CardShare(uuid=uuid, vendor="NVIDIA", memory=use.memory, cores=use.cores, slots=use.slots)
        for uuid, use in effective_use(pod.shares, pod.init).items()
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(gangs, min_size=1, max_size=8))
def test_what_annotations_say_is_what_the_log_has_reserved(story: list[object]) -> None:
    books = Books()
    for number, wanted in enumerate(story):
        books.begin(f"team/w{number}", wanted)
    seen = pods_of(books)
    for node in ("n1", "n2"):
        on = books.world.cards.cards_of(node)
        held = [PodShares(shares=_effective(pod)) for pod in seen if pod.node == node]
        again = {state.card.uuid: state.use for state in rebuilt(on.cards, held)}
        assert again == dict(on.used)
    before = dict(books.world.cards.used)
    books.tell(*seen)
    assert books.world.cards.used == before, "pods that hold what was reserved for them are charged once"
    assert all_findings(books.world.cards, books.world.nodes, books.world.pods) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(gangs, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_in_which_nodes_pods_and_decisions_arrive_does_not_matter(
    story: list[object], chance: Random
) -> None:
    books = Books()
    for number, wanted in enumerate(story):
        books.begin(f"team/w{number}", wanted)
    strays = [pod for pod in pods_of(books) if chance.random() < 0.3]
    told: list[AnyEvent] = [
        *(NodeObserved(name=node) for node in ("n1", "n2")),
        *books.world.cards.nodes.values(),
        *pods_of(books),
        *(PodObserved(**{**_fields(pod), "name": f"x-{pod.name}", "workload": ""}) for pod in strays),
        *(DevicesReserved(workload=key, reservation=1, placements=one) for key, one in books.reserved.items()),
    ]
    worlds = [_folded(told, lambda events: events), _folded(told, lambda events: chance.sample(events, len(events)))]
    assert state_hash(worlds[0]) == state_hash(worlds[1])
    first, second = ({k: dict(sorted(row.items())) for k, row in w.cards.stakes.items() if row} for w in worlds)
    assert first == second
    found = [all_findings(w.cards, w.nodes, w.pods) for w in worlds]
    assert found[0] == found[1]


def _fields(pod: PodObserved) -> dict[str, object]:
    return {name: getattr(pod, name) for name in pod.__struct_fields__}


def _folded(events: list[AnyEvent], order: Callable[[list[AnyEvent]], list[AnyEvent]]) -> World:
    world = World()
    for event in order(events):
        evolve(world, event, LogPosition(partition="L", sequence=1, at=5))
    return world


@settings(max_examples=60, deadline=None)
@given(st.lists(gangs, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_each_mib_millisecond_credited_to_a_tenant_is_debited_from_one_card(
    story: list[object], chance: Random
) -> None:
    books = Books()
    moments: list[tuple[int, dict[str, tuple[int, int]]]] = []

    def note() -> None:
        moments.append((books.at, {uuid: (use.memory, use.cores) for uuid, use in books.world.cards.used.items()}))

    for number, wanted in enumerate(story):
        books.begin(f"team-{number % 3}/w{number}", wanted)
        note()
        books.at += chance.randint(0, 5000)
        if books.reserved and chance.random() < 0.5:
            books.end(chance.choice(sorted(books.reserved)))
            note()
            books.at += chance.randint(0, 5000)
    note()
    debited: dict[str, tuple[int, int]] = {}
    for (since, used), (until, _) in pairwise(moments):
        for uuid, (memory, cores) in used.items():
            old = debited.get(uuid, (0, 0))
            debited[uuid] = (old[0] + memory * (until - since), old[1] + cores * (until - since))
    credited: dict[str, tuple[int, int]] = {}
    for one in books.time.intervals():
        length = (books.at if one.until is None else one.until) - one.since
        old = credited.get(one.card, (0, 0))
        credited[one.card] = (old[0] + one.memory * length, old[1] + one.cores * length)
    assert {k: v for k, v in credited.items() if v != (0, 0)} == {k: v for k, v in debited.items() if v != (0, 0)}
    tenants = books.time.use(books.at).values()
    assert sum(tenant.memory for tenant in tenants) == sum(memory for memory, _ in debited.values())
    assert sum(tenant.cores for tenant in tenants) == sum(cores for _, cores in debited.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(gangs, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_what_is_folded_ahead_is_taken_back_without_a_trace(story: list[object], chance: Random) -> None:
    books = Books()
    for number, wanted in enumerate(story[:-1]):
        books.begin(f"team/w{number}", wanted)
    books.tell(*pods_of(books))
    before = state_hash(books.world)
    stakes = {uuid: dict(row) for uuid, row in books.world.cards.stakes.items() if row}
    mark = books.world.mark()
    books.begin("team/last", story[-1])
    for pod in pods_of(books):
        if chance.random() < 0.5:
            books.tell(ObjectRemoved(kind="Pod", namespace=pod.namespace, name=pod.name))
    books.tell(NodeObserved(name="n1", ready=False), ObjectRemoved(kind="Node", name="n2"))
    books.world.undo(mark)
    assert state_hash(books.world) == before
    assert {uuid: dict(row) for uuid, row in books.world.cards.stakes.items() if row} == stakes
