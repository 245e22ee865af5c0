"""Wild objects, facts and messages end no service, halt nobody without a name, and keep no ordinary job from being admitted.

`make fuzz` plays many more of them; one that does harm is told with its seed and the command that plays it again.
"""

from collections import Counter
from pathlib import Path
from typing import NoReturn

import pytest

from events.catalogue import all_events
from events.subjects import CONTROL, FACTS
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.production.process.clock import ScaledClock
from services.queue_manager.decide import QueueManager
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition import fold as partition_fold
from services.runtime.partition.errors import MessageNotOurs
from services.runtime.partition.stored_message import Opened, Passed, open_message
from tests.fuzz import scene, watch
from tests.fuzz.inputs import Sort, inputs_of
from tests.fuzz.many import EACH, Order, Verdict, What, play_order
from tests.fuzz.objects import objects_of, play_objects
from tests.fuzz.play import course, fewest, play
from tests.fuzz.scene import Scene

MESSAGES, OBJECTS = 28, 40
"""So many platforms are played here: more than 2,500 messages and objects."""
PARTS = 4
SEEDS = 800
"""What is only said by the wrong author is drawn about twice in 200 of them."""
ROOMS = {
    FACTS: "kuelog.facts.",
    PARTITION: "kuelog.log.0.",
    DEVICE_PARTITION: "kuelog.devices.default.",
    CONTROL: "kuelog.control.",
}


def harmless(verdict: Verdict) -> bool:
    assert not verdict.harm, "\n".join((verdict.harm, *verdict.told, verdict.command))
    return True


@pytest.mark.parametrize("part", range(PARTS))
def test_wild_messages_harm_nobody_else(part: int) -> None:
    assert all(harmless(play_order(Order(what=What.MESSAGES, seed=seed))) for seed in range(part, MESSAGES, PARTS))


@pytest.mark.parametrize("part", range(PARTS))
def test_broken_objects_harm_nobody_else(part: int) -> None:
    refused = Counter[str]()
    for seed in range(part, OBJECTS, PARTS):
        found = play_objects(seed, objects_of(seed, EACH))
        assert not found.harm, f"seed {seed}: {found.harm}"
        refused.update(found.refused)
    assert sum(refused.values()) > OBJECTS // PARTS * EACH // 40, "most of them break something"
    unnamed = sum(count for text, count in refused.items() if text)
    assert unnamed * 50 < sum(refused.values()), "nearly every mistake is told with its field and what is wrong there"


async def test_on_a_real_server_wild_messages_harm_nobody_either(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)
    await server.start()
    bus = await connect(server.url)
    platform = Scene(1, bus, ScaledClock())
    # A server files by subject: what is filed under another stream's does not come to this one.
    filed = [one for one in inputs_of(4, EACH) if one.subject.startswith(ROOMS[one.stream])]
    assert len(filed) > EACH // 2
    try:
        await course(platform, filed)
    finally:
        await platform.end()
        await bus.close()
        await server.stop()


def test_every_event_type_is_among_them_and_most_of_them_can_be_read() -> None:
    kinds, read, whole = set[str](), 0, 0
    for one in (one for seed in range(SEEDS) for one in inputs_of(seed, EACH)):
        events = [one.body.get("fact"), *one.body.get("events", ())]
        kinds |= {event["type"] for event in events if event}
        whole += one.sort is not Sort.BYTES
        read += one.sort in (Sort.FACT, Sort.DECISION)
    missing = sorted({one.__name__ for one in all_events()} - {kind.partition(".")[0] for kind in kinds})
    assert not missing
    assert read > whole // 2


def test_the_same_seed_says_the_same() -> None:
    assert inputs_of(5, EACH) == inputs_of(5, EACH)
    inputs = inputs_of(3, 12)
    assert play(3, inputs) == play(3, inputs)


def test_what_does_harm_is_found_and_told_by_the_one_message_that_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def unnamed(entry: Entry, control: Control) -> Opened | Passed:
        try:
            return open_message(entry, control)
        except MessageNotOurs as problem:
            raise KeyError("no name") from problem

    monkeypatch.setattr(partition_fold, "open_message", unnamed)
    verdict = play_order(Order(what=What.MESSAGES, seed=0))
    assert "KeyError: 'no name'" in verdict.harm
    (told,) = verdict.told
    assert verdict.command.endswith(f"--only {told.partition(':')[0]}")
    again = play_order(Order(what=What.MESSAGES, seed=0, only=(int(told.partition(":")[0]),)))
    assert again.harm == verdict.harm


def test_services_that_fill_the_log_or_never_rest_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    order = Order(what=What.MESSAGES, seed=4, only=(0,))
    with monkeypatch.context() as patched:
        patched.setattr(scene, "MOST_STORED", 40)
        assert play_order(order).harm.startswith("the log grows without end: ")

    def never_rests(*_: object) -> NoReturn:
        while True:
            pass

    monkeypatch.setattr(QueueManager, "decide", never_rests)
    monkeypatch.setattr(watch, "LONGEST_S", 0.5)
    assert "NeverAtRest: nothing comes to rest" in play_order(order).harm
    assert "NeverAtRest: nothing comes to rest" in play_order(Order(what=What.OBJECTS, seed=4, only=(0,))).harm


def test_of_many_messages_the_fewest_that_do_harm_are_left() -> None:
    assert fewest(list(range(40)), lambda some: {2, 17, 39} <= {*some}) == [2, 17, 39]
    assert fewest([1], lambda some: bool(some)) == [1]
