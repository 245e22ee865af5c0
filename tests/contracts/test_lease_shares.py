"""Leases on a real server spread over the replicas that are there, each held by one at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from io import StringIO

import pytest
import pytest_asyncio
from rich.console import Console

from ops.cli.log.care import run_leases
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.jetstream.leases import BusLeases
from ops.production.log.server.server import NatsServer
from ops.production.own_leases import OwnLeases
from ops.terminal.form import AnswerForm
from services.runtime.lease_port import Replica
from services.runtime.log_errors import NotAllowed

SOON = 60
NAMES = (
    "DEVICES_default.accountant",
    *(f"LOG_{n}.{who}" for n in range(2) for who in ("admitter", "applier")),
    "watcher",
)


class Platform:
    """Processes that share leases, and who of them holds which: never two the same one."""

    def __init__(self, leases: BusLeases) -> None:
        self._leases = leases
        self._there: dict[str, tuple[OwnLeases, asyncio.Task[None]]] = {}
        self._moved = asyncio.Event()

    def start(self, name: str) -> None:
        own = OwnLeases(self._leases, name)
        self._there[name] = (own, asyncio.create_task(self._serve(own, name)))

    async def stop(self, name: str) -> None:
        _, task = self._there.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def stop_all(self) -> None:
        for name in list(self._there):
            await self.stop(name)

    def held(self) -> dict[str, list[str]]:
        return {name: [one.name for one in own.all if one.held] for name, (own, _) in self._there.items()}

    def kinds(self) -> tuple[int, ...]:
        """Of how many kinds of work each holds leases, in the order of their start."""
        return tuple(len({one.rpartition(".")[2] for one in held}) for held in self.held().values())

    async def until(self, *counts: int, kinds: tuple[int, ...] = ()) -> None:
        """Wait until each lease is held, by replicas that hold so many of so many kinds of work, in the order of their start."""
        async with asyncio.timeout(SOON):
            while [len(held) for held in self.held().values()] != list(counts) or (kinds and self.kinds() != kinds):
                self._moved.clear()
                await self._moved.wait()

    async def _serve(self, own: OwnLeases, replica: str) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name in NAMES:
                lease = own.lease(name, tasks)
                assert lease is not None
                lease.listeners.append(lambda one=lease: self._note(one.name, replica, held=one.held))
            tasks.create_task(own.share(self._leases))

    def _note(self, lease: str, replica: str, *, held: bool) -> None:
        if held:
            assert sum(lease in held for held in self.held().values()) <= 1
        self._moved.set()


@pytest_asyncio.fixture
async def platform(bus: JetStreamBus, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Platform]:
    monkeypatch.setattr("ops.production.own_leases.KEPT_AT_LEAST_S", 0.0)
    async with AsyncExitStack() as stack:
        found = Platform(bus.leases)
        stack.push_async_callback(found.stop_all)
        yield found


async def test_a_replica_that_joins_gets_its_share_and_one_that_ends_leaves_its_own_to_the_others(
    platform: Platform,
) -> None:
    platform.start("a")
    await platform.until(6)
    platform.start("b")
    # How many moves that takes is held in tests/services/runtime/test_lease_shares.py: here a lease that its next holder is slow to take
    # is taken by another one meanwhile, so that one may hold three before they are one of each kind.
    await platform.until(3, 3, kinds=(3, 3))
    platform.start("c")
    await platform.until(2, 2, 2)
    await platform.stop("a")
    await platform.until(3, 3, kinds=(3, 3))


async def test_what_a_replica_says_of_itself_is_forgotten_when_it_leaves(bus: JetStreamBus) -> None:
    first, second = Replica(name="a.b", wants=NAMES, holds=("watcher",)), Replica(name="c")
    await bus.leases.announce(first)
    await bus.leases.announce(second)
    assert await bus.leases.replicas() == [first, second]
    assert await bus.leases.holders() == {}, "who is there holds nothing by that"
    await bus.leases.leave("a.b")
    assert await bus.leases.replicas() == [second]


async def test_who_may_not_say_that_it_is_there_takes_what_is_free_and_keeps_it(
    bus: JetStreamBus, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(replica: Replica) -> None:
        raise NotAllowed(stream="LEASES", subject=f"kuelog.leases.replicas.{replica.name}")

    monkeypatch.setattr(bus.leases, "announce", refused)
    platform.start("a")
    await platform.until(6)
    platform.start("b")
    await platform.stop("a")
    await platform.until(6)


async def test_the_command_says_who_holds_what_and_who_is_ready(server: NatsServer, platform: Platform) -> None:
    platform.start("first")
    await platform.until(6)
    platform.start("second")
    await platform.until(3, 3)
    told = StringIO()
    console = Console(file=told, width=200)
    assert await asyncio.to_thread(run_leases, server.url, AnswerForm.TEXT, console=console) == 0
    lines = told.getvalue().splitlines()
    assert lines[0] == "DEVICES_default.accountant  second  ready: first"
    assert lines[-1] == "watcher                     first   ready: second"
