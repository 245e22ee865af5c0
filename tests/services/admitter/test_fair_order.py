from hypothesis import given
from hypothesis import strategies as st

from events.settings import SettingsObserved
from projections.fair_sharing.share import share_of
from projections.flavors.assignment import Assignment
from projections.preemption.classic import charge
from projections.quota.node import Node
from services.admitter.cycle_order import in_turn
from services.admitter.entry import AdmissionEntry, QueueHead
from tests.projections.fair_sharing.cohort_world import CohortWorld

QUEUES = "abcdef"
queues = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from(["left", "right", "root", ""]), st.integers(0, 3), st.integers(0, 8)),
    min_size=6,
    max_size=6,
)
asked = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 2), st.integers(0, 2)), min_size=6, max_size=6)


def grown(tree: list, told: list) -> tuple[CohortWorld, list[AdmissionEntry]]:
    at = CohortWorld(SettingsObserved(fair_sharing=True))
    at.cohort("left", "root")
    at.cohort("right", "root")
    for name, (nominal, cohort, weight, _) in zip(QUEUES, tree, strict=True):
        at.queue(name, nominal, cohort, weight)
    entries: list[AdmissionEntry] = []
    for name, (_, _, _, used), (amount, priority, timestamp) in zip(QUEUES, tree, told, strict=True):
        at.running(f"old-{name}", name, used)
        at.waiting(name, priority)
        usage = {at.column: amount}
        entries.append(
            AdmissionEntry(
                head=QueueHead(workload=at.world.workloads[f"team/{name}"], queue=at.world.cluster_queues[name]),
                node=at.world.quota.queues[name],
                assignment=Assignment(pod_sets=[], usage=usage, attempts=[], borrow=0),
                timestamp=timestamp,
            )
        )
    return at, entries


def processed(at: CohortWorld, entries: list[AdmissionEntry]) -> list[str]:
    """The order, with each entry charged before the next one is asked for."""
    mark = at.world.mark()
    found: list[str] = []
    for entry in in_turn(at.world, entries):
        found.append(entry.queue.name)
        assert entry.node is not None
        charge(at.world.trail, entry.node, entry.usage)
    at.world.undo(mark)
    return found


@given(queues, asked, st.permutations(range(6)))
def test_the_order_does_not_depend_on_how_the_entries_came(tree: list, told: list, order: list[int]) -> None:
    at, entries = grown(tree, told)
    before = at.usage()
    assert processed(at, entries) == processed(at, [entries[number] for number in order])
    assert at.usage() == before


@given(queues, asked)
def test_every_tree_holds_its_tournament_anew_after_each_entry_and_winners_meet_by_priority_and_age(
    tree: list, told: list
) -> None:
    at, entries = grown(tree, told)
    expected: list[str] = []
    mark = at.world.mark()
    left = {entry.queue.name: entry for entry in entries}
    while left:
        roots = {entry.node.root.key: entry.node.root for entry in left.values() if entry.node is not None}
        winners = (champion(at, root, left) for root in roots.values())
        first = min(winners, key=lambda one: (-one.workload.priority, one.timestamp, one.workload.uid))
        expected.append(first.queue.name)
        charge(at.world.trail, first.node, first.usage)
        del left[first.queue.name]
    at.world.undo(mark)
    assert processed(at, entries) == expected


def champion(at: CohortWorld, node: Node, left: dict[str, AdmissionEntry]) -> AdmissionEntry | None:
    if node.is_queue:
        return left.get(node.name)
    rivals = [(child, champion(at, child, left)) for child in node.children.values()]
    return min(
        (entry for _, entry in rivals if entry is not None),
        key=lambda entry: rank(at, entry, next(child for child, one in rivals if one is entry)),
        default=None,
    )


def rank(at: CohortWorld, entry: AdmissionEntry, child: Node) -> tuple:
    mark = at.world.mark()
    charge(at.world.trail, entry.node, entry.usage)
    share = share_of(child, at.world.quota.columns.names)
    at.world.undo(mark)
    workload = entry.workload
    return (share.borrowing, share, -workload.priority, entry.timestamp, workload.uid)


def test_who_stays_within_its_own_goes_before_who_borrows() -> None:
    tree = [(1, "root", 1, 0), (4, "root", 1, 0), (0, "root", 1, 0), (0, "", 1, 0), (0, "", 1, 0), (0, "", 1, 0)]
    told = [(2, 2, 0), (2, 0, 2), (1, 2, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0)]
    at, entries = grown(tree, told)
    assert next(name for name in processed(at, entries) if name in "abc") == "b"
