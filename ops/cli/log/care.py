"""`kuelog log …`: what an operator does to the log, each of it on record."""

import asyncio
from pathlib import Path

import msgspec
from rich.console import Console

from events.control import Quarantined
from events.subjects import CONTROL
from ops.cli.failures import known_failures
from ops.production.archive.history import read_stored
from ops.production.archive.proof.witness import HeadWitness
from ops.production.log.control import say
from ops.production.log.jetstream.bus import connect
from ops.production.log.streams import streams_on
from ops.production.process.clock import ScaledClock
from ops.queries.quarantine import QuarantineRefused, refuse_if_folded
from ops.terminal.form import AnswerForm, print_answer


def run_quarantine(stream: str, sequence: int, reason: str, nats: str, *, console: Console) -> int:
    """Record that a message is skipped. 1 when there is no such message."""
    with known_failures() as outcome:
        asyncio.run(_quarantine(stream, sequence, reason, nats))
        console.print(f"{stream} {sequence} is skipped from now on: {reason}")
        outcome.code = 0
    return outcome.code


def run_accept_loss(stream: str, witness: Path, *, console: Console) -> int:
    """Forget what was witnessed of a stream. 1 when nothing was."""
    with known_failures() as outcome:
        known = HeadWitness(witness).forget(stream)
        message = f"{stream} is witnessed anew from its present end" if known else f"nothing was witnessed of {stream}"
        console.print(message)
        outcome.code = 0 if known else 1
    return outcome.code


class LeaseHeld(msgspec.Struct, frozen=True, kw_only=True):
    """A lease that a replica holds at the moment."""

    lease: str
    replica: str
    standbys: list[str]
    """The other replicas that would take it, by name."""


def run_leases(nats: str, output: AnswerForm, *, console: Console) -> int:
    """Print who holds which lease."""
    with known_failures() as outcome:
        found = asyncio.run(_leases(nats))
        if output is not AnswerForm.TEXT:
            print_answer(found, output)
        elif not found:
            console.print("nobody holds a lease: no replica runs, or each runs without them")
        else:
            width, wide = max(len(one.lease) for one in found), max(len(one.replica) for one in found)
            for one in found:
                ready = f"ready: {', '.join(one.standbys)}" if one.standbys else "nobody else is ready"
                console.print(f"{one.lease:<{width}}  {one.replica:<{wide}}  {ready}", highlight=False)
        outcome.code = 0
    return outcome.code


async def _leases(nats: str) -> list[LeaseHeld]:
    bus = await connect(nats)
    try:
        holders, replicas = await bus.leases.holders(), await bus.leases.replicas()
    finally:
        await bus.close()
    return [
        LeaseHeld(
            lease=lease, replica=who, standbys=[one.name for one in replicas if lease in one.wants and one.name != who]
        )
        for lease, who in sorted(holders.items())
    ]


async def _quarantine(stream: str, sequence: int, reason: str, nats: str) -> None:
    bus = await connect(nats)
    try:
        there = (await streams_on(bus)).every
        if stream not in there:
            raise QuarantineRefused(f"there is no stream {stream}: write one of {', '.join(there)}")
        found = await bus.stream(stream)
        if sequence > (end := (await found.last()).sequence):
            raise QuarantineRefused(f"{stream} ends at {end}: there is no message {sequence} that could be skipped")
        await found.get(sequence)
        refuse_if_folded(await read_stored(bus), stream, sequence)
        control = await bus.stream(CONTROL)
        await say(control, Quarantined(stream=stream, sequence=sequence, reason=reason), ScaledClock().now())
    finally:
        await bus.close()
