from typing import Any, get_args

import msgspec
import pytest

from events.application import DecisionApplied, DecisionRejected
from events.catalogue import Decision, Fact, all_events
from events.codec import UPCASTS, NotOurs, decode_commit, decode_event, decode_sighting, encode
from events.commit import Commit, InputRun, Sighting
from events.hash_chain import bytes_hash
from events.workload import WorkloadQueued


def sample(kind: type) -> Any:
    """A plausible value of any event: each required field filled by its type."""
    made: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.required:
            made[field.encode_name] = _value(field.type)
    return msgspec.convert(made | {"type": kind.__struct_config__.tag}, kind)


def _value(kind: Any) -> Any:
    if hasattr(kind, "__metadata__"):
        return _value(kind.__origin__)
    if kind is str:
        return "team/name"
    if kind is bool:
        return True
    if kind is int:
        return 7
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {f.encode_name: _value(f.type) for f in msgspec.structs.fields(kind) if f.required}
    if isinstance(kind, type) and hasattr(kind, "__members__"):
        return next(iter(kind)).value
    if getattr(kind, "__origin__", None) is dict:
        return {}
    return []


@pytest.mark.parametrize("kind", all_events(), ids=lambda kind: kind.__name__)
def test_every_event_comes_back_from_its_bytes(kind: type) -> None:
    event = sample(kind)
    assert decode_event(encode(event)) == event
    assert encode(decode_event(encode(event))) == encode(event)


@pytest.mark.parametrize("kind", [DecisionApplied, DecisionRejected])
def test_the_partition_of_a_decision_is_stored_under_the_name_that_it_always_had(kind: type) -> None:
    stored = msgspec.json.decode(encode(sample(kind)))
    assert stored["lane"] == sample(kind).partition and "partition" not in stored


def test_every_event_says_its_version_in_its_tag() -> None:
    for kind in all_events():
        assert kind.__struct_config__.tag == f"{kind.__name__}.v1"
        assert kind.__struct_config__.frozen


def test_a_sighting_and_a_commit_come_back_from_their_bytes() -> None:
    for kind in get_args(Fact):
        sighting = Sighting(id="i", at=1, author="watcher", fact=sample(kind))
        assert decode_sighting(encode(sighting)) == sighting
    for kind in get_args(Decision):
        commit = make_commit(sample(kind))
        assert decode_commit(encode(commit)) == commit


def make_commit(*events: Decision) -> Commit:
    return Commit(
        id="c",
        prev_hash="0" * 64,
        partition="LOG_0",
        base=0,
        inputs=(InputRun(stream="FACTS", upto=3),),
        author="queue-manager",
        epoch=0,
        rules="1",
        at=5,
        events=events,
    )


def test_a_message_that_is_not_ours_says_so_and_what_to_do() -> None:
    with pytest.raises(NotOurs, match="log quarantine"):
        decode_sighting(b"hello")
    with pytest.raises(NotOurs):
        decode_commit(encode(make_commit()).replace(b'"events":[]', b'"events":[{"type":"Unheard.v9"}]'))


def test_a_field_that_a_newer_writer_adds_is_let_through() -> None:
    data = encode(WorkloadQueued(workload="a/b", cluster_queue="c")).replace(b"}", b',"later":1}')
    assert decode_event(data) == WorkloadQueued(workload="a/b", cluster_queue="c")


def test_an_event_of_an_old_version_is_lifted_to_todays(monkeypatch: pytest.MonkeyPatch) -> None:
    def lift(old: dict[str, Any]) -> dict[str, Any]:
        return {"type": "WorkloadQueued.v1", "workload": old["wl"], "cluster_queue": old["cq"]}

    monkeypatch.setitem(UPCASTS, "WorkloadQueued.v0", lift)
    assert decode_event(b'{"type":"WorkloadQueued.v0","wl":"a/b","cq":"c"}') == WorkloadQueued(
        workload="a/b", cluster_queue="c"
    )
    commit = encode(make_commit()).replace(
        b'"events":[]', b'"events":[{"type":"WorkloadQueued.v0","wl":"a/b","cq":"c"}]'
    )
    assert decode_commit(commit).events == (WorkloadQueued(workload="a/b", cluster_queue="c"),)


def test_the_chain_hash_is_over_the_bytes_as_stored() -> None:
    assert bytes_hash(b"a") != bytes_hash(b"b")
    assert len(bytes_hash(b"")) == 64


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"fact":' + b"[" * 200_000,
        b'{"id":"\xff\xfe"}',
        b'{"unheard":' + b'{"a":' * 200_000,
        b"",
        b"NaN",
        b'{"fact":{"type":"PodsGone.v1","workload":NaN}}',
        b'{"id":"i","author":"watcher","at":' + b"9" * 5000 + b',"fact":{"type":"PodsGone.v1","workload":"a/b"}}',
        b'"\\ud800"',
    ],
    ids=range(9),
)
def test_whatever_bytes_there_are_they_are_at_most_not_ours(data: bytes) -> None:
    for decode in (decode_sighting, decode_commit, decode_event):
        with pytest.raises(NotOurs, match="quarantine"):
            decode(data)


def test_a_failing_lift_of_an_old_version_makes_a_message_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UPCASTS, "WorkloadQueued.v0", lambda old: {"workload": old["never there"]})
    with pytest.raises(NotOurs):
        decode_event(b'{"type":"WorkloadQueued.v0"}')
