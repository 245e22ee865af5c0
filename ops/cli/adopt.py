"""`kuelog adopt`: take over a cluster from Kueue without stopping a running job."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from events.codec import decode_sighting
from events.settings import SettingsObserved
from events.subjects import FACTS
from ops.cli.failures import known_failures
from ops.cli.serving.serve import settings_of
from ops.production.kubernetes.client import connect as connect_kube
from ops.production.loaded_selectors import selectors_for
from ops.production.log.jetstream.bus import connect as connect_bus
from ops.production.log.memory import MemoryStream
from ops.production.log.streams import streams_on
from ops.production.migration import FoundObjects, MigrationDifference, differences, running
from ops.production.process.clock import ScaledClock
from ops.terminal.console import terminal
from ops.terminal.endings import complain
from ops.terminal.form import AnswerForm, Output, print_answer
from projections.evolve import evolve_sighting
from projections.log_position import LogPosition
from projections.world import World
from services.runtime.clock_port import Clock
from services.runtime.log_port import Stream
from services.watcher.shell import Watcher
from services.watcher.view import View

console = terminal(soft_wrap=True)
_PATIENCE_S = 600.0
_ALL_KINDS = (
    "integrations.frameworks names no kinds of jobs: Kueue manages only batch/job then, kuelog all that it knows. "
    "Name [batch/job] there, or jobs of other kinds that name a queue are held back until they are let in"
)


def adopt(
    kubeconfig: Annotated[str, typer.Option(help="The cluster that Kueue has managed.")] = "",
    context: Annotated[str, typer.Option(help="The context of that kubeconfig.")] = "",
    nats: Annotated[
        str, typer.Option(help="The bus that the facts are recorded on.", envvar="KUELOG_NATS")
    ] = "nats://127.0.0.1:4222",
    config: Annotated[Path | None, typer.Option(help="Kueue's Configuration file, if it had one.")] = None,
    dry_run: Annotated[bool, typer.Option(help="Only say what differs; no bus is needed.")] = False,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Record what a cluster of Kueue's holds as facts, and say what differs; what runs goes on.

    Exit codes: 0 adopted, or nothing would stand in the way; 1 something does, and nothing was recorded; 2 a mistake.

    Example: kuelog adopt --kubeconfig ~/.kube/config --dry-run
    """
    messages = terminal(stderr=True, soft_wrap=True)
    with known_failures() as outcome:
        settings = settings_of(config, messages)
        try:
            answer = asyncio.run(adopted(kubeconfig, context, "" if dry_run else nats, settings))
        except LogInUse as problem:
            raise typer.Exit(complain(problem)) from problem
        if not settings.frameworks:
            messages.print(
                f"{config or 'without --config'}: {_ALL_KINDS}", style="yellow", highlight=False, markup=False
            )
        if output is not AnswerForm.TEXT:
            print_answer(answer, output)
        else:
            _print(answer)
        outcome.code = 1 if answer.blocked else 0
    raise typer.Exit(outcome.code)


class Adopted(msgspec.Struct, frozen=True, kw_only=True):
    """How many objects of each kind were found, and what differs from Kueue."""

    recorded: bool
    queues: int
    workloads: int
    admitted: int
    running: int
    facts: int
    differences: list[MigrationDifference]

    @property
    def blocked(self) -> bool:
        """Whether a difference keeps the cluster from being adopted."""
        return any(one.blocks for one in self.differences)


class LogInUse(Exception):
    """The log holds decisions already: another story can't begin on it."""

    def __init__(self, partition: str, sequence: int) -> None:
        super().__init__(
            f"{partition} holds {sequence} decisions already: a cluster is adopted on a fresh log. "
            "Archive the old streams and take them away, or name another bus"
        )


async def adopted(kubeconfig: str, context: str, nats: str, settings: SettingsObserved) -> Adopted:
    """List the cluster, compare, and record it as facts unless a difference blocks that or no bus is named."""
    clock = ScaledClock()
    async with AsyncExitStack() as stack:
        client = await connect_kube(kubeconfig, context, service="adopt")
        stack.push_async_callback(client.close)
        facts: Stream | None = None
        if nats:
            bus = await connect_bus(nats)
            stack.push_async_callback(bus.close)
            for partition in (await streams_on(bus)).trees:
                decided = (await (await bus.stream(partition)).last()).sequence
                if decided:
                    raise LogInUse(partition, decided)
            facts = await bus.stream(FACTS)
        found = FoundObjects(client, settings)
        await found.take()
        trial = MemoryStream(FACTS)
        view = await _record(found, trial, clock, settings)
        world = World()
        for entry in trial.entries:
            sighting = decode_sighting(entry.data)
            evolve_sighting(world, sighting, LogPosition(partition=FACTS, sequence=entry.sequence, at=sighting.at))
        differ = differences(found, view, world)
        records = facts is not None and not any(one.blocks for one in differ)
        if facts is not None and records:
            await _record(found, facts, clock, settings)
        return Adopted(
            recorded=records,
            queues=len(world.cluster_queues),
            workloads=len(world.workloads),
            admitted=sum(1 for one in world.workloads.values() if one.admission is not None and not one.finished),
            running=len(running(found, view)),
            facts=len(trial.entries),
            differences=differ,
        )


async def _record(found: FoundObjects, facts: Stream, clock: Clock, settings: SettingsObserved) -> View:
    """Record what was found through the watcher itself: the same facts, under the same ids, as it reports later."""
    watcher = Watcher(found, facts, clock, settings=settings, selectors=selectors_for(settings))
    task = asyncio.create_task(watcher.run())
    try:
        async with asyncio.timeout(_PATIENCE_S):
            waiting = asyncio.create_task(watcher.listed.wait())
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if task.done():
                task.result()
    finally:
        task.cancel()
        await asyncio.wait({task})
    return watcher.view


def _print(answer: Adopted) -> None:
    console.print(
        f"{answer.queues} cluster queues, {answer.workloads} workloads, {answer.admitted} admitted, {answer.running} jobs running",
        highlight=False,
    )
    for one in answer.differences:
        colour, word = ("red", "blocks") if one.blocks else ("yellow", "differs")
        console.print(f"[{colour}]{word}[/{colour}] ", end="", highlight=False)
        console.print(f"{one.object}: {one.what} ({one.code})", highlight=False, markup=False)
        console.print(f"    so: {one.consequence}", highlight=False, markup=False)
        if one.instead:
            console.print(f"    do: {one.instead}", highlight=False, markup=False)
    if answer.recorded:
        console.print(f"recorded as {answer.facts} facts: start the services, nothing is stopped", highlight=False)
    else:
        console.print("nothing was recorded", highlight=False)
