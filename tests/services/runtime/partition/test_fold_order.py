"""The canonical order of a partition: inputs that were folded ahead of a commit, taken back for another, and named by one's own."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.catalogue import AnyEvent, Decision
from events.codec import encode
from events.commit import Commit, InputRun, Sighting
from events.device import DevicesReleased
from events.event import Millis
from events.hash_chain import GENESIS, bytes_hash
from events.quota import NamespaceObserved
from events.rules import RULES
from events.setting_aside import SetAside
from events.subjects import FACTS, commit_subject, fact_subject
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.replay import fold_up
from projections.amiss import AUTHOR, TIME
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.state_hash import state_hash
from projections.world import World
from services.runtime.control_log import AHEAD
from services.runtime.log_port import Entry
from services.runtime.partition import fold as partition_fold
from services.runtime.partition.errors import ChainBroken, FoldFailed
from services.runtime.partition.fold import PartitionFold

FIRST = SetAside(service="admitter", tree="t", reason="r", rules="1")
SECOND = SetAside(service="admitter", tree="u", reason="r", rules="1")
STORED: Millis = 1_800_000_000_000


def fact(number: int, *, author: str = "watcher", at: Millis = 0) -> Entry:
    told = NamespaceObserved(name=f"n{number}")
    data = encode(Sighting(id=f"f{number}", at=at or number, author=author, fact=told))
    subject = fact_subject("", "NamespaceObserved")
    return Entry(stream=FACTS, sequence=number, subject=subject, message_id=f"f{number}", data=data, stored=STORED)


def commit(
    base: int,
    prev_hash: str,
    *events: Decision,
    inputs: tuple[InputRun, ...] = (),
    partition: str = PARTITION,
    author: str = "queue-manager",
    at: Millis = 1000,
    state_hash: str = "",
) -> tuple[Entry, Commit]:
    made = Commit(
        id=f"c{base}",
        prev_hash=prev_hash,
        partition=partition,
        base=base,
        inputs=inputs,
        author=author,
        epoch=0,
        rules=RULES,
        at=at,
        events=events,
        state_hash=state_hash,
    )
    subject = commit_subject(partition, author)
    entry = Entry(
        stream=partition, sequence=base + 1, subject=subject, message_id=made.id, data=encode(made), stored=STORED
    )
    return entry, made


def released(number: int) -> Entry:
    """A commit of the partition of devices, as an input."""
    event = DevicesReleased(workload=f"team/w{number}", reservation=number, proof="pods gone")
    return commit(number - 1, GENESIS, event, partition=DEVICE_PARTITION, author="accountant")[0]


def run(stream: str, upto: int) -> InputRun:
    return InputRun(stream=stream, upto=upto)


def offered(facts: int, devices: int = 0) -> PartitionFold:
    fold = PartitionFold(PARTITION)
    fold.offer(FACTS, [fact(n) for n in range(1, facts + 1)])
    fold.offer(DEVICE_PARTITION, [released(n) for n in range(1, devices + 1)])
    return fold


def known(fold: PartitionFold) -> list[str]:
    return sorted(fold.world.namespaces)


def names(*numbers: int) -> list[str]:
    return [f"n{number}" for number in numbers]


@pytest.mark.parametrize(
    ("most", "runs", "left"),
    [
        (None, (run(DEVICE_PARTITION, 2), run(FACTS, 3)), False),
        (5, (run(DEVICE_PARTITION, 2), run(FACTS, 3)), False),
        (4, (run(DEVICE_PARTITION, 2), run(FACTS, 2)), True),
        (3, (run(DEVICE_PARTITION, 2), run(FACTS, 1)), True),
        (2, (run(DEVICE_PARTITION, 2),), True),
        (1, (run(DEVICE_PARTITION, 1),), True),
        (0, (), True),
    ],
)
def test_at_most_so_many_inputs_are_folded_ahead_stream_by_stream(
    most: int | None, runs: tuple[InputRun, ...], *, left: bool
) -> None:
    fold = offered(3, devices=2)
    assert fold.fold_inputs(most) is left
    assert fold.runs == runs
    assert fold.ahead == sum(one.upto for one in runs)
    assert fold.fold_inputs() is False
    assert (fold.position(FACTS), fold.position(DEVICE_PARTITION), known(fold)) == (3, 2, names(1, 2, 3))


def test_a_stream_of_which_nothing_waits_keeps_no_other_waiting() -> None:
    fold = offered(2)
    assert fold.fold_inputs(1) is True and fold.fold_inputs(1) is False
    assert fold.runs == (run(FACTS, 2),), "what follows in the same stream is one run"


def resting(on: InputRun, partition: str = PARTITION) -> Entry:
    """The first commit of another partition, which rests on this."""
    return commit(0, GENESIS, FIRST, inputs=(on,), partition=partition, author="admitter")[0]


def test_a_commit_of_another_partition_waits_for_the_facts_that_it_rests_on() -> None:
    fold = PartitionFold(DEVICE_PARTITION)
    fold.offer(PARTITION, [resting(run(FACTS, 2))])
    fold.offer(FACTS, [fact(1)])
    assert fold.fold_inputs() is False, "nobody turns round and round while it waits"
    assert fold.runs == (run(FACTS, 1),)
    fold.offer(FACTS, [fact(2), fact(3)])
    assert fold.fold_inputs() is False
    assert fold.runs == (run(FACTS, 3), run(PARTITION, 1))


def test_a_commit_that_rests_on_what_is_not_there_keeps_none_that_was_before_it() -> None:
    fold = PartitionFold(PARTITION)
    second = commit(1, GENESIS, FIRST, inputs=(run(FACTS, 9),), partition=DEVICE_PARTITION, author="accountant")[0]
    fold.offer(DEVICE_PARTITION, [released(1), second])
    assert fold.fold_inputs() is False
    assert fold.position(DEVICE_PARTITION) == 1


def test_a_commit_whose_stream_comes_first_is_folded_behind_the_facts_that_it_rests_on() -> None:
    fold = PartitionFold(PARTITION)
    fold.offer(
        DEVICE_PARTITION,
        [commit(0, GENESIS, inputs=(run(FACTS, 1),), partition=DEVICE_PARTITION, author="accountant")[0]],
    )
    fold.offer(FACTS, [fact(1)])
    assert fold.fold_inputs(1) is True, "it can be folded now"
    assert fold.fold_inputs() is False
    assert fold.runs == (run(FACTS, 1), run(DEVICE_PARTITION, 1))


def test_what_a_commit_of_another_partition_rests_on_in_this_one_is_not_waited_for() -> None:
    fold = PartitionFold(DEVICE_PARTITION)
    fold.offer(PARTITION, [resting(run(DEVICE_PARTITION, 7))])
    assert fold.fold_inputs() is False and fold.runs == (run(PARTITION, 1),)


def test_what_was_handed_over_before_is_dropped() -> None:
    fold = offered(3)
    assert fold.received(FACTS) == 3 and fold.received(DEVICE_PARTITION) == 0
    fold.offer(FACTS, [fact(n) for n in range(2, 6)])
    assert fold.received(FACTS) == 5
    fold.fold_inputs()
    fold.offer(FACTS, [fact(n) for n in range(4, 7)])
    assert (fold.ahead, fold.received(FACTS)) == (5, 6)
    fold.fold_inputs()
    assert (fold.ahead, fold.received(FACTS), known(fold)) == (6, 6, names(1, 2, 3, 4, 5, 6))
    fold.offer("DEVICES_other", [])
    assert fold.received("DEVICES_other") == fold.position("DEVICES_other") == 0


def test_a_run_names_the_turns_of_streams_in_their_order() -> None:
    fold = offered(2, devices=1)
    fold.fold_ahead([run(FACTS, 1), run(DEVICE_PARTITION, 1), run(FACTS, 2)])
    assert fold.runs == (run(FACTS, 1), run(DEVICE_PARTITION, 1), run(FACTS, 2))
    assert fold.position(FACTS) == 2


def test_a_commit_takes_back_what_was_folded_ahead_and_folds_just_what_it_rests_on() -> None:
    fold = offered(3)
    fold.fold_inputs()
    entry, made = commit(0, GENESIS, FIRST, inputs=(run(FACTS, 2),))
    fold.fold_commit(entry, made)
    assert (known(fold), list(fold.world.aside)) == (names(1, 2), ["admitter/tree/t"])
    assert (fold.base, fold.prev_hash, fold.at) == (1, bytes_hash(entry.data), 1000)
    assert (fold.settled, fold.runs, fold.ahead, fold.position(FACTS)) == ({FACTS: 2}, (), 0, 2)
    assert fold.fold_inputs() is False and known(fold) == names(1, 2, 3), "the third waited and was not lost"
    again = fold_up(PARTITION, {PARTITION: [entry], FACTS: [fact(1), fact(2)]})
    fold.rewind()
    assert state_hash(fold.world) == state_hash(again.world)


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every input that is folded from now on, by its stream and sequence, also where it is folded again."""
    found: list[tuple[str, int]] = []
    fold_input = PartitionFold._fold_input

    def noted(fold: PartitionFold, entry: Entry) -> None:
        found.append((entry.stream, entry.sequence))
        fold_input(fold, entry)

    monkeypatch.setattr(PartitionFold, "_fold_input", noted)
    return found


def test_what_a_commit_names_in_the_order_in_which_it_was_folded_is_not_folded_again(
    folded: list[tuple[str, int]],
) -> None:
    fold = offered(3)
    fold.fold_inputs()
    fold.fold_commit(*commit(0, GENESIS, FIRST, inputs=(run(FACTS, 2),)))
    fold.fold_inputs()
    assert folded == [(FACTS, 1), (FACTS, 2), (FACTS, 3), (FACTS, 3)], "the third comes behind what was decided"


def test_after_more_was_said_on_control_all_is_folded_again(folded: list[tuple[str, int]]) -> None:
    fold = offered(1)
    fold.fold_inputs()
    fold.control.position += 1
    fold.fold_commit(*commit(0, GENESIS, FIRST, inputs=(run(FACTS, 1),)))
    assert folded == [(FACTS, 1), (FACTS, 1)]


@st.composite
def turns(draw: st.DrawFn, facts: int = 5, devices: int = 3) -> tuple[InputRun, ...]:
    """Runs in which all inputs up to there come, the streams by turns."""
    upto, found = {FACTS: 0, DEVICE_PARTITION: 0}, list[InputRun]()
    for stream in draw(st.lists(st.sampled_from((FACTS, DEVICE_PARTITION)), max_size=6)):
        most = facts if stream == FACTS else devices
        if upto[stream] < most and (not found or found[-1].stream != stream):
            upto[stream] = draw(st.integers(upto[stream] + 1, most))
            found.append(run(stream, upto[stream]))
    return tuple(found)


@given(turns(), turns())
def test_whatever_was_folded_ahead_the_inputs_stand_in_the_order_of_the_commit(
    own: tuple[InputRun, ...], named: tuple[InputRun, ...]
) -> None:
    standing: list[tuple[str, int]] = []

    class Noting(PartitionFold):
        """What stands of the inputs in the world: what is taken back does no more."""

        def _fold_input(self, entry: Entry) -> None:
            standing.append((entry.stream, entry.sequence))
            self.world.trail.note(lambda: standing.pop() and None)
            super()._fold_input(entry)

    fold = Noting(PARTITION)
    fold.offer(FACTS, [fact(n) for n in range(1, 6)])
    fold.offer(DEVICE_PARTITION, [released(n) for n in range(1, 4)])
    fold.fold_ahead(own)
    fold.fold_commit(*commit(0, GENESIS, FIRST, inputs=named))
    before, wanted = dict[str, int](), list[tuple[str, int]]()
    for one in named:
        wanted += [(one.stream, number) for number in range(before.get(one.stream, 0) + 1, one.upto + 1)]
        before[one.stream] = one.upto
    assert (standing, fold.settled, fold.ahead) == (wanted, before, 0)
    fold.fold_inputs()
    assert (fold.position(FACTS), fold.position(DEVICE_PARTITION), len(standing)) == (5, 3, 8), "none is lost"


def test_what_is_taken_back_waits_in_its_order() -> None:
    fold = offered(3, devices=2)
    before = state_hash(fold.world)
    fold.fold_ahead([run(FACTS, 1), run(DEVICE_PARTITION, 2), run(FACTS, 3)])
    fold.rewind()
    assert (state_hash(fold.world), fold.ahead, fold.runs) == (before, 0, ())
    assert (fold.position(FACTS), fold.received(FACTS), fold.received(DEVICE_PARTITION)) == (0, 3, 2)
    fold.fold_ahead([run(FACTS, 2)])
    assert known(fold) == names(1, 2)


def test_a_commit_waits_for_inputs_that_are_neither_waiting_nor_folded() -> None:
    fold = offered(3, devices=1)
    fold.fold_ahead([run(FACTS, 2)])
    for facts, devices, missing in ((3, 1, None), (4, 1, run(FACTS, 4)), (3, 2, run(DEVICE_PARTITION, 2))):
        _, made = commit(0, GENESIS, inputs=(run(FACTS, facts), run(DEVICE_PARTITION, devices)))
        assert fold.missing_for(made) == missing
    _, both = commit(0, GENESIS, inputs=(run(FACTS, 9), run(DEVICE_PARTITION, 9)))
    assert fold.missing_for(both) == run(DEVICE_PARTITION, 9)


def test_time_never_goes_back_on_a_partition() -> None:
    fold = PartitionFold(PARTITION)
    first, made = commit(0, GENESIS, at=5000)
    fold.fold_commit(first, made)
    for at, counts in ((4000, 5000), (5000, 5000), (6000, 6000)):
        entry, _ = commit(1, fold.prev_hash, at=at)
        found = fold.decode(entry)
        assert found is not None and found.at == counts


def test_what_does_not_count_on_a_partition_is_gone_past_and_the_next_commit_hangs_on_it() -> None:
    fold = offered(1)
    fold.fold_inputs()
    foreign, _ = commit(0, GENESIS, author="watcher")
    assert fold.decode(foreign) is None
    fold.skip(foreign)
    assert (fold.base, fold.prev_hash, fold.ahead) == (1, bytes_hash(foreign.data), 0)
    assert [(one.stream, one.sequence, one.what) for one in fold.world.amiss.values()] == [(PARTITION, 1, AUTHOR)]
    follows, made = commit(1, bytes_hash(foreign.data))
    fold.fold_commit(follows, made)
    assert fold.base == 2 and len(fold.world.amiss) == 1
    quarantined, _ = commit(2, fold.prev_hash)
    fold.control.skipped[PARTITION, 3] = "asked for"
    assert fold.decode(quarantined) is None
    fold.skip(quarantined)
    assert fold.base == 3 and len(fold.world.amiss) == 1, "nobody has to be told of what an operator had skipped"


def test_a_sighting_on_a_partition_does_not_count() -> None:
    fold = PartitionFold(PARTITION)
    stray = msgspec.structs.replace(fact(1), stream=FACTS)
    assert fold.decode(stray) is None


def test_an_input_that_does_not_count_or_comes_from_the_future_is_told_on_the_world() -> None:
    fold = PartitionFold(PARTITION)
    fold.offer(FACTS, [fact(1, author="nobody"), fact(2, at=STORED + AHEAD + 1), fact(3, at=STORED + AHEAD)])
    fold.fold_inputs()
    assert known(fold) == names(2, 3)
    assert [(one.sequence, one.what) for one in fold.world.amiss.values()] == [(1, AUTHOR), (2, TIME)]
    assert fold.ahead == 3, "it is passed, and named among what was folded"
    hurried, made = commit(0, GENESIS, inputs=fold.runs, at=STORED + AHEAD + 7)
    counted = fold.decode(hurried)
    assert counted is not None and (made.at, counted.at) == (STORED + AHEAD + 7, STORED + AHEAD)
    fold.fold_commit(hurried, counted)
    assert [(one.stream, one.sequence, one.what) for one in fold.world.amiss.values()][-1] == (PARTITION, 1, TIME)


def test_a_state_that_a_commit_names_is_known_with_its_place() -> None:
    fold = PartitionFold(PARTITION)
    first, made = commit(0, GENESIS, state_hash="a" * 64)
    fold.fold_commit(first, made)
    assert fold.marked == (1, "a" * 64)
    second, made = commit(1, fold.prev_hash)
    fold.fold_commit(second, made)
    assert fold.marked == (1, "a" * 64), "one that names none leaves the last as it is"


@pytest.mark.parametrize(("base", "prev_hash"), [(1, GENESIS), (0, "f" * 64)])
def test_a_commit_that_does_not_hang_on_the_last_one_is_named_and_changes_nothing(base: int, prev_hash: str) -> None:
    fold = offered(1)
    fold.fold_inputs()
    entry, made = commit(base, prev_hash, inputs=(run(FACTS, 1),))
    with pytest.raises(ChainBroken) as raised:
        fold.fold_commit(entry, made)
    assert (raised.value.sequence, raised.value.expected, raised.value.found) == (base + 1, GENESIS, prev_hash)
    assert (fold.base, fold.ahead, known(fold)) == (0, 1, names(1))


def test_a_commit_of_which_one_event_can_not_be_folded_is_named_and_none_of_them_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fold = offered(1)
    before = state_hash(fold.world)

    def fails_on_the_second(world: World, event: AnyEvent, position: LogPosition) -> None:
        if event is SECOND:
            raise ValueError("no such thing")
        evolve(world, event, position)

    entry, made = commit(0, GENESIS, FIRST, SECOND)
    with monkeypatch.context() as patched:
        patched.setattr(partition_fold, "evolve", fails_on_the_second)
        with pytest.raises(FoldFailed, match="ValueError: no such thing") as raised:
            fold.fold_commit(entry, made)
    assert (raised.value.stream, raised.value.sequence) == (PARTITION, 1)
    assert (state_hash(fold.world), fold.base) == (before, 0)
    fold.fold_commit(entry, made)
    assert len(fold.world.aside) == 2, "it is folded where nothing fails"
