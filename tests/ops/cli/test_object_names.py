"""Tab completes names of objects from the log: of those that are there, without a bus nothing, and a second time without asking it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from events.codec import encode
from events.commit import Sighting
from events.quota import ClusterQueueObserved
from events.subjects import FACTS, fact_subject
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.generations import asked
from ops.production.log.server.server import NatsServer
from ops.sandbox.bench.day import BEGINS, played, small_day
from services.runtime.log_port import Message
from tests.ops.console.served import store
from tests.stage.forked_commands import forked

Complete = Callable[..., "asyncio.Future[list[str]]"]


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[tuple[JetStreamBus, str]]:
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    yield bus, server.url
    await bus.close()
    await server.stop()


async def completed(cache: Path, *words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    line = " ".join(("kuelog", *words))
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "_KUELOG_COMPLETE": "complete_bash"}
    done = await asyncio.to_thread(forked, (), env={**env, "COMP_WORDS": line, "COMP_CWORD": str(len(words))})
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("explain", "--nats", "URL", "workload/day/w1"), "workload/day/w1"),
        (("explain", "--nats", "URL", "day/w1"), "day/w1"),
        (("history", "--nats", "URL", "clusterqueue/"), "clusterqueue/queue-0"),
        (("top", "--nats", "URL", "-q", "queue"), "queue-0"),
        (("top", "--nats", "URL", "-n", ""), "day"),
        (("whatif", "--nats", "URL", "--remove", "node/"), "node/"),
        (("log", "show", "--nats", "URL", "--object", "localqueue/"), "localqueue/day/"),
        (("bill", "--nats", "URL", "--tenant", "d"), "day"),
        (("devices", "--nats", "URL", "--node", ""), ""),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else one,
)
async def test_names_of_the_log_are_offered_for_what_is_typed(
    bus: tuple[JetStreamBus, str], tmp_path: Path, words: tuple[str, ...], expected: str
) -> None:
    await store(bus[0], played(small_day(12))[0])
    found = await completed(tmp_path / "cache", *(bus[1] if word == "URL" else word for word in words))
    assert found and all(one.startswith(words[-1]) for one in found)
    assert any(one.startswith(expected) for one in found), found


async def test_what_is_new_on_the_log_is_read_on_and_another_log_begins_anew(
    bus: tuple[JetStreamBus, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ops.cli import object_names

    stream = await bus[0].stream(FACTS)
    kept = object_names.KnownNames()
    for number in range(3):
        fact = ClusterQueueObserved(name=f"queue-{number}")
        data = encode(Sighting(id=str(number), at=BEGINS, author="watcher", fact=fact))
        await stream.publish([Message(fact_subject("", type(fact).__name__), data, str(number))])
        await object_names.read_on(kept, bus[1], tmp_path)
        assert (list(kept.names)[-1], kept.upto) == (f"clusterqueue/queue-{number}", number + 1)
    other = object_names.KnownNames(created="before", upto=100, names={"clusterqueue/gone": None})
    await object_names.read_on(other, bus[1], tmp_path)
    assert other == kept


async def test_without_a_bus_nothing_is_offered_and_what_is_known_is_offered_without_asking_it(
    tmp_path: Path,
) -> None:
    assert await completed(tmp_path, "explain", "--data", str(tmp_path), "job/") == []
    assert await completed(tmp_path, "explain", "--nats", "nats://127.0.0.1:1", "job/") == []
    server = NatsServer(tmp_path / "nats")
    await server.start()
    bus = await connect(server.url)
    assert await completed(tmp_path / "empty", "explain", "--nats", server.url, "job/") == []
    assert (await asked(bus.client, "STREAM.INFO.FACTS", {}))["error"], "a stream was made by asking for names"
    await store(bus, played(small_day(12))[0])
    before = await completed(tmp_path, "history", "--nats", server.url, "workload/day/")
    await bus.close()
    await server.stop()
    assert before and await completed(tmp_path, "history", "--nats", server.url, "workload/day/") == before
