"""What a commit may say of the facts that it rests on: anything else is told by its place, and nothing of it is folded."""

import pytest
from msgspec.structs import replace

from events.codec import encode
from events.commit import Commit, InputRun, Sighting
from events.control import ForkedFrom
from events.hash_chain import GENESIS
from events.quota import NamespaceObserved
from events.subjects import CONTROL, FACTS
from projections.state_hash import state_hash
from services.runtime.log_port import Entry
from services.runtime.partition.errors import InputsWrong
from services.runtime.partition.fold import PartitionFold

PARTITION = "LOG_0"


def entry(stream: str, sequence: int, data: bytes) -> Entry:
    return Entry(stream=stream, sequence=sequence, subject="", message_id=f"{stream}{sequence}", data=data)


def commit(*inputs: InputRun) -> Commit:
    return Commit(
        id="x",
        prev_hash=GENESIS,
        partition=PARTITION,
        base=0,
        inputs=inputs,
        author="admitter",
        epoch=0,
        rules="2",
        at=1,
        events=(),
    )


def facts(count: int) -> list[Entry]:
    return [
        entry(FACTS, n, encode(Sighting(id=f"f{n}", at=n, author="watcher", fact=NamespaceObserved(name=f"n{n}"))))
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ((InputRun(stream=FACTS, upto=3), InputRun(stream=FACTS, upto=2)), "more of it was named before"),
        ((InputRun(stream=FACTS, upto=-1),), "more of it was named before"),
        ((InputRun(stream=CONTROL, upto=1),), "no input of the partition"),
        ((InputRun(stream=PARTITION, upto=0),), "no input of the partition"),
        ((InputRun(stream="", upto=0),), "no input of the partition"),
    ],
)
def test_a_commit_whose_inputs_run_backwards_or_are_none_of_its_partition_is_not_folded(
    inputs: tuple[InputRun, ...], told: str
) -> None:
    fold = PartitionFold(PARTITION)
    fold.offer(FACTS, facts(3))
    fold.offer(CONTROL, [entry(CONTROL, 1, encode(commit()))])
    before = state_hash(fold.world)
    bad = commit(*inputs)
    with pytest.raises(InputsWrong, match=told):
        fold.fold_commit(entry(PARTITION, 1, encode(bad)), bad)
    assert state_hash(fold.world) == before and fold.base == 0


def test_a_commit_may_rest_on_no_more_of_a_stream_than_was_named_before() -> None:
    fold = PartitionFold(PARTITION)
    fold.offer(FACTS, facts(3))
    first = commit(InputRun(stream=FACTS, upto=3))
    fold.fold_commit(entry(PARTITION, 1, encode(first)), first)
    second = replace(first, id="y", base=1, prev_hash=fold.prev_hash)
    fold.fold_commit(entry(PARTITION, 2, encode(second)), second)
    assert fold.base == 2


def test_a_commit_waits_for_the_farthest_of_the_runs_that_it_names() -> None:
    fold = PartitionFold(PARTITION)
    fold.offer(FACTS, facts(2))
    far = InputRun(stream=FACTS, upto=9)
    assert fold.missing_for(commit(far, InputRun(stream=FACTS, upto=1))) == far
    assert fold.missing_for(commit(InputRun(stream=FACTS, upto=2))) is None


def test_no_commit_of_a_new_fold_has_named_a_state_hash() -> None:
    assert PartitionFold(PARTITION).marked == (0, "")


def test_facts_that_were_gone_past_are_not_fixed_before_a_commit_names_them() -> None:
    fold = PartitionFold(PARTITION)
    fold.offer(FACTS, facts(3))
    fold.fold_inputs()
    assert fold.unfixed == 3
    first = commit(InputRun(stream=FACTS, upto=2))
    fold.rewind()
    fold.fold_commit(entry(PARTITION, 1, encode(first)), first)
    fold.fold_inputs()
    assert (fold.position(FACTS), fold.unfixed) == (3, 1)


def test_a_fork_that_has_begun_has_nothing_of_its_origin_left_to_read() -> None:
    fold, fork = PartitionFold("LOG_1"), ForkedFrom(partition=1, origin=0, above=9)
    fold.control.forks["LOG_1"] = fork
    assert not fold.reaches("LOG_0", 9)
    fold.restore(base=3, prev_hash="", at=0, settled={FACTS: 5})
    assert fold.reaches("LOG_0", 9)
    assert (fold.reaches("LOG_1", 3), fold.reaches("LOG_1", 4)) == (True, False)
    assert (fold.reaches(FACTS, 5), fold.reaches(FACTS, 6)) == (True, False)
