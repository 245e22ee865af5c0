"""A real server with the rendered configuration: each service says what is its own to say, and nothing else."""

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import nats
import pytest

from events.authors import AUTHORS
from events.catalogue import Fact
from events.routing import ROUTED
from events.subjects import FACTS, commit_subject, fact_subject, routed_subject
from ops.production.deploy.bus import configuration_text, server_configuration, server_file, users_of
from ops.production.log.given_back import GivingBack
from ops.production.log.jetstream.bus import JetStreamBus, connect, subjects_of
from ops.production.log.jetstream.generations import asked, generations, mark_subject, names_of
from ops.production.log.jetstream.rolling import remove, roll
from ops.production.log.jetstream.shelf import WATCHER, counters_of, rooms_of
from ops.production.log.kept_tail import KeptTail
from ops.production.log.partitioning import divide
from ops.production.log.server.server import nats_binary
from ops.production.log.streams import DEVICE_PARTITION, PARTITION, SOLE, streams_of
from ops.production.log.tree_moves import PartitionsRefused
from ops.production.process.clock import ScaledClock
from ops.production.served import SERVICES
from services.runtime.lease_port import Replica
from services.runtime.log_errors import LogUnavailable, NotAllowed
from services.runtime.log_port import Entry, Message
from tests.stage.ports import reserved_port

STREAMS, USERS = SOLE.witnessed, users_of(SOLE)
BY_NAME = {one.name: one for one in USERS}
OF_QUEUES = ("queue-manager", "admitter", "preemptor", "multikueue")
DECIDERS = {**dict.fromkeys(OF_QUEUES, PARTITION), "accountant": DEVICE_PARTITION}
OF_NO_TREE = {
    kind.__name__: user
    for user, author in (("applier", "applier"), ("multikueue", "remote-clusters"))
    for kind in AUTHORS[author].says
}
"""Facts that belong to no tree, with the user who may tell them; all others are the watcher's."""


def matches(pattern: str, subject: str) -> bool:
    parts, words = pattern.split("."), subject.split(".")
    for index, part in enumerate(parts):
        if part == ">":
            return len(words) > index
        if index >= len(words) or part not in ("*", words[index]):
            return False
    return len(parts) == len(words)


def may(user: str, subject: str) -> bool:
    return any(matches(one, subject) for one in BY_NAME[user].permissions(SOLE)["publish"]["allow"])


def test_every_service_has_a_user_and_every_subject_one_service_that_may_use_it() -> None:
    assert set(SERVICES) <= set(BY_NAME)
    for name, partition in DECIDERS.items():
        speakers = {one for one in SERVICES if may(one, commit_subject(partition, name))}
        assert speakers == {name}
    for kind in [one.__name__ for one in Fact.__args__]:
        speakers = {one for one in SERVICES if may(one, fact_subject("any-tree", kind))}
        assert speakers == (set() if kind in OF_NO_TREE else {"watcher"})
        told = {one for one in SERVICES if may(one, fact_subject("", kind))}
        assert told == {OF_NO_TREE.get(kind, "watcher")}
    assert {one for one in BY_NAME if may(one, "kuelog.control.operator")} == {"operator", "restorer"}


def test_no_user_may_touch_what_is_stored() -> None:
    for user in BY_NAME:
        for stream in STREAMS:
            rolls = user == "archivist" and stream in SOLE.rolled
            for name in names_of(stream):
                for verb in ("PURGE", "MSG.DELETE", "SNAPSHOT", "RESTORE"):
                    assert not may(user, f"$JS.API.STREAM.{verb}.{name}")
                assert may(user, f"$JS.API.STREAM.DELETE.{name}") == (user == "restorer" or rolls)
                assert may(user, f"$JS.API.STREAM.UPDATE.{name}") == rolls
            assert may(user, f"$JS.API.STREAM.CREATE.{stream}") == (user in ("streams", "restorer") or rolls)
            assert may(user, mark_subject(stream)) == rolls


def test_worlds_are_saved_by_those_who_decide_on_them_and_the_view_by_the_watcher() -> None:
    for key, owners in ((PARTITION, set(OF_QUEUES)), (DEVICE_PARTITION, {"accountant"})):
        assert {one for one in BY_NAME if may(one, f"kuelog.snapshots.{key}.a.0")} == owners | {"restorer"}
    assert {one for one in BY_NAME if may(one, f"kuelog.snapshots.{WATCHER}.b.label")} == {"watcher", "restorer"}
    assert {one for one in BY_NAME if may(one, f"kuelog.snapshots.{counters_of(PARTITION)}.a.0")} == {"queue-manager"}
    assert [one for one in BY_NAME if may(one, "$JS.API.STREAM.DELETE.SNAPSHOTS")] == ["restorer"]


def test_the_whole_configuration_is_one_that_the_server_understands(tmp_path: Path) -> None:
    text = server_file("kuelog-system").replace("/data", str(tmp_path / "data"))
    path = tmp_path / "nats.conf"
    path.write_text(text)
    env = {**os.environ, "POD_NAME": "kuelog-nats-0", **{one.variable: f"p{one.name}" for one in USERS}}
    done = subprocess.run([nats_binary(), "-t", "-c", str(path)], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert not re.search(r'"<<|>>"', text)


@asynccontextmanager
async def server_of(folder: Path, partitions: int) -> AsyncIterator[int]:
    """A server with the users of a log of so many partitions, and no stream yet."""
    port, streams = reserved_port(), streams_of(partitions)
    whole = {
        "port": port,
        "host": "127.0.0.1",
        "jetstream": {"store_dir": str(folder)},
        **server_configuration(streams),
    }
    path = folder / "nats.conf"
    path.write_text(configuration_text(whole))
    env = {**os.environ, **{one.variable: f"p{one.name}" for one in users_of(streams)}}
    server = await asyncio.create_subprocess_exec(
        nats_binary(), "-c", str(path), env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await (await connect(address(port, "reader"), patience=20)).close()
        yield port
    finally:
        server.terminate()
        await server.wait()


@asynccontextmanager
async def bus(folder: Path) -> AsyncIterator[int]:
    async with server_of(folder, 1) as port:
        made = await connect(address(port, "streams"))
        for name in STREAMS:
            await made.stream(name)
        await made.shelf.prepare()
        await made.close()
        yield port


def address(port: int, user: str) -> str:
    return f"nats://{user}:p{user}@127.0.0.1:{port}"


async def let_through(url: str, subjects: Sequence[str]) -> set[str]:
    """The subjects that a user may publish to: whatever the server does not call a violation."""
    said: dict[str, asyncio.Future[bool]] = {one.lower(): asyncio.Future() for one in subjects}

    async def heard(problem: Exception) -> None:
        found = re.search(r'permissions violation for publish to "(.*)"', str(problem))
        if found is not None:
            said[found[1]].set_result(False)

    async def answered(subject: str) -> None:
        # What is allowed and in no stream has no responders: that is no violation either.
        with suppress(nats.errors.NoRespondersError, nats.errors.TimeoutError):
            await client.request(subject, b"{}", timeout=20)
        if not said[subject.lower()].done():
            said[subject.lower()].set_result(True)

    client = await nats.connect(url, error_cb=heard)
    asking = [asyncio.create_task(answered(subject)) for subject in subjects]
    try:
        return {subject for subject in subjects if await said[subject.lower()]}
    finally:
        for task in asking:
            task.cancel()
        await client.close()


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[int]:
    async with bus(tmp_path) as found:
        yield found


async def test_who_does_a_piece_of_work_takes_its_lease_and_whoever_reads_the_log_sees_who_has_it(port: int) -> None:
    setup, own, reader = [await connect(address(port, one)) for one in ("streams", "admitter", "reader")]
    try:
        await setup.leases.prepare()
        lease, other = f"{PARTITION}.admitter", f"{PARTITION}.applier"
        assert await own.leases.take(lease, "pod")
        await own.leases.announce(Replica(name="pod", wants=(lease,), holds=(lease,)))
        with pytest.raises(NotAllowed):
            await own.leases.take(other, "pod")
        assert await reader.leases.holders() == {lease: "pod"}
        assert [one.name for one in await reader.leases.replicas()] == ["pod"]
        with pytest.raises(NotAllowed):
            await reader.leases.announce(Replica(name="reader"))
    finally:
        for one in (setup, own, reader):
            await one.close()


async def test_each_decider_appends_to_its_own_partition_and_reads_every_stream(port: int) -> None:
    for name, partition in DECIDERS.items():
        own = await connect(address(port, name))
        try:
            stream = await own.stream(partition)
            base = (await stream.last()).sequence
            assert await stream.append(commit_subject(partition, name), b"{}", message_id=name, base=base) == base + 1
            for other in STREAMS:
                await (await own.stream(other)).last()
            found = [entry async for batch in (await own.stream(partition)).read() for entry in batch]
            assert found[-1].message_id == name
        finally:
            await own.close()


KINDS = [one.__name__ for one in Fact.__args__]
ROUTED_KINDS = {one.__name__ for one in ROUTED}
KEYS = (PARTITION, DEVICE_PARTITION, WATCHER)


def who_routes(kind: str) -> set[str]:
    """Who may tell a fact of a kind to one partition alone."""
    if kind not in ROUTED_KINDS:
        return set()
    return {OF_NO_TREE[kind], "archivist"} if kind in OF_NO_TREE else {"watcher", "archivist", "operator"}


def owners() -> dict[str, set[str]]:
    """Every subject that may be tried, and who may use it."""
    found: dict[str, set[str]] = {}
    for kind in KINDS:
        outcome = kind in OF_NO_TREE
        found[fact_subject("", kind)] = {OF_NO_TREE[kind] if outcome else "watcher", "archivist"}
        found[fact_subject("tree", kind)] = {"archivist"} if outcome else {"watcher", "archivist"}
        if not outcome:
            found[fact_subject("", kind)].add("operator")
            found[fact_subject("tree", kind)].add("operator")
        found[routed_subject("LOG_3", kind)] = who_routes(kind)
        for gap in (f"kuelog.facts.{kind}", f"kuelog.facts.a.b.{kind}", f"kuelog.facts.a.{kind}.b"):
            found[gap] = set()
    for name, partition in DECIDERS.items():
        subject = commit_subject(partition, name)
        found |= {subject: {name}, f"{subject}.more": set(), subject.replace(f".{name}", ""): set()}
    for foreign in ("kuelog.log.1.admitter", "kuelog.devices.other.accountant", "kuelog.facts.a.SomethingElse"):
        found[foreign] = set()
    deciders = {
        name: {one for one, partition in DECIDERS.items() if partition == name}
        for name in (PARTITION, DEVICE_PARTITION)
    }
    for key in KEYS:
        savers = deciders.get(key, {"watcher"})
        found |= {f"kuelog.snapshots.{key}.{place}.0": savers for place in ("a", "b")}
        found |= {f"kuelog.snapshots.{key}.{more}": set() for more in ("c.0", "a.0.0", "a")}
    for stream in STREAMS:
        found[f"$JS.API.STREAM.PURGE.{stream}"] = set()
        found[mark_subject(stream)] = {"archivist"} if stream in SOLE.rolled else set()
    control = "kuelog.control.operator"
    found |= {control: {"operator"}, "kuelog.control._.operator": set(), "kuelog.control.watcher": set()}
    saved = [place for key in KEYS for place in rooms_of(key)]
    for subject, who in found.items():
        if any(matches(pattern, subject) for pattern in (*map(subjects_of, STREAMS), *saved)):
            who.add("restorer")
    return found


async def test_each_user_publishes_what_is_his_and_is_refused_everything_else(port: int) -> None:
    tried = owners()
    for user in BY_NAME:
        expected = {subject for subject, who in tried.items() if user in who}
        assert await let_through(address(port, user), list(tried)) == expected, user


async def test_watcher_applier_and_who_connects_to_other_clusters_tell_their_facts(port: int) -> None:
    for user, subjects in (
        ("watcher", [fact_subject("tree", "WorkloadSubmitted")]),
        *(
            (user, sorted(fact_subject("", kind) for kind in OF_NO_TREE if OF_NO_TREE[kind] == user))
            for user in ("applier", "multikueue")
        ),
    ):
        own = await connect(address(port, user))
        facts = await own.stream("FACTS")
        for subject in subjects:
            await facts.publish([Message(subject, b"{}", subject)])
            assert (await facts.last()).message_id == subject
        await own.close()


async def test_a_bus_whose_rights_name_one_partition_is_not_divided_and_nothing_is_said(port: int) -> None:
    operator = await connect(address(port, "operator"))
    control, facts = await operator.stream("CONTROL"), await operator.stream("FACTS")
    before = [(await one.last()).sequence for one in (control, facts)]
    with pytest.raises(PartitionsRefused, match="LOG_1 can't be made: it may not publish.*Nothing was changed"):
        await divide(operator, 2, 1000)
    assert [(await one.last()).sequence for one in (control, facts)] == before
    await operator.close()


async def test_the_archivist_rolls_and_removes_what_nobody_else_may(port: int) -> None:
    writer = await connect(address(port, "accountant"))
    partition = await writer.stream(DEVICE_PARTITION)
    subject = commit_subject(DEVICE_PARTITION, "accountant")
    await partition.append(subject, b"{}", message_id="one", base=0)
    archivist = await connect(address(port, "archivist"))
    assert await roll(archivist, DEVICE_PARTITION) == 1
    assert await partition.append(subject, b"{}", message_id="two", base=1) == 2
    await remove(archivist, DEVICE_PARTITION)
    assert [one.first for one in await generations(writer.client, DEVICE_PARTITION)] == [2]
    await writer.shelf.put(DEVICE_PARTITION, [b"world"], upto={DEVICE_PARTITION: 2}, rules="1")
    [kept] = await archivist.shelf.labels(DEVICE_PARTITION)
    assert await archivist.shelf.take(kept) == b"world"
    await writer.close()
    await archivist.close()


async def test_who_may_not_do_what_was_asked_is_told_that_and_not_of_a_full_disk(port: int) -> None:
    reader = await connect(address(port, "reader"))
    partition, facts = await reader.stream(PARTITION), await reader.stream("FACTS")
    subject, kind = commit_subject(PARTITION, "admitter"), fact_subject("", "PodsGone")
    asking = (
        (partition.append(subject, b"{}", message_id="mine", base=0), subject),
        (facts.publish([Message(kind, b"{}", "mine")]), kind),
        (asked(reader.client, f"STREAM.DELETE.{PARTITION}", {}), f"$JS.API.STREAM.DELETE.{PARTITION}"),
        (
            reader.shelf.put(PARTITION, [b"world"], upto={PARTITION: 1}, rules="1"),
            f"kuelog.snapshots.{PARTITION}.a.0",
        ),
    )
    answers = await asyncio.gather(*(one for one, _ in asking), return_exceptions=True)
    for (_, refused), answer in zip(asking, answers, strict=True):
        assert isinstance(answer, NotAllowed) and answer.subject == refused, answer
        assert f"it may not publish to {refused}. Connect as the user of the bus who may" in str(answer)
    await reader.close()


async def test_a_stranger_is_not_let_in(port: int) -> None:
    for url in (f"nats://127.0.0.1:{port}", f"nats://admitter:wrong@127.0.0.1:{port}"):
        with pytest.raises(LogUnavailable):
            await connect(url, patience=2)


def test_the_streams_take_in_what_the_users_may_say() -> None:
    patterns = {name: subjects_of(name) for name in STREAMS}
    for name, partition in DECIDERS.items():
        assert matches(patterns[partition], commit_subject(partition, name))
    assert matches(patterns["FACTS"], fact_subject("", "DecisionApplied"))


@pytest.mark.parametrize(
    ("stream", "speakers", "reader"),
    [
        (PARTITION, [(one, commit_subject(PARTITION, one)) for one in DECIDERS if one != "accountant"], "accountant"),
        (DEVICE_PARTITION, [("accountant", commit_subject(DEVICE_PARTITION, "accountant"))], "admitter"),
        (
            FACTS,
            [("watcher", fact_subject("", "PodsGone")), ("applier", fact_subject("", "DecisionApplied"))],
            "preemptor",
        ),
    ],
)
async def test_what_the_bus_has_lost_is_given_back_with_the_rights_of_each(
    tmp_path: Path, stream: str, speakers: list[tuple[str, str]], reader: str
) -> None:
    lost = [
        Entry(
            stream=stream,
            sequence=number + 1,
            subject=speakers[number % len(speakers)][1],
            message_id=f"m{number}",
            data=str(number).encode(),
            stored=1_700_000_000_000 + number,
        )
        for number in range(9)
    ]
    async with bus(tmp_path) as port, asyncio.timeout(60):
        users = [await connect(address(port, name)) for name in (*(name for name, _ in speakers), reader)]

        async def give_back(user: JetStreamBus) -> None:
            tail = KeptTail()
            tail.note(lost)
            await GivingBack(await user.stream(stream), tail, ScaledClock(scale=10), {}, {}).back()

        async with asyncio.TaskGroup() as tasks:
            for user in users:
                tasks.create_task(give_back(user))
        found = [entry async for batch in (await users[-1].stream(stream)).read(0) for entry in batch]
        for user in users:
            await user.close()
    assert [(one.subject, one.message_id, one.data, one.stored) for one in found] == [
        (one.subject, one.message_id, one.data, one.stored) for one in lost
    ]
