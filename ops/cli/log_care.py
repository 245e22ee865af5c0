"""`kuelog log …`: what an operator does to the log, each of it on record."""

import asyncio
import hashlib
from pathlib import Path

from rich.console import Console

from events.codec import encode
from events.commit import GENESIS, Commit
from events.control import Quarantined
from events.subjects import CONTROL
from ops.cli.failures import known_failures
from ops.cluster.clock import ScaledClock
from ops.log.jetstream import connect
from ops.witness import HeadWitness


def run_quarantine(stream: str, sequence: int, reason: str, nats: str, *, console: Console) -> int:
    """Record that a message is skipped. 1 when there is no such message."""
    with known_failures(console) as outcome:
        asyncio.run(_quarantine(stream, sequence, reason, nats))
        console.print(f"{stream} {sequence} is skipped from now on: {reason}")
        outcome.code = 0
    return outcome.code


def run_accept_loss(stream: str, witness: Path, *, console: Console) -> int:
    """Forget what was witnessed of a stream. 1 when nothing was."""
    with known_failures(console) as outcome:
        known = HeadWitness(witness).forget(stream)
        told = f"{stream} is witnessed anew from its present end" if known else f"nothing was witnessed of {stream}"
        console.print(told)
        outcome.code = 0 if known else 1
    return outcome.code


async def _quarantine(stream: str, sequence: int, reason: str, nats: str) -> None:
    bus = await connect(nats)
    try:
        await (await bus.stream(stream)).get(sequence)
        control = await bus.stream(CONTROL)
        head = await control.last()
        event = Quarantined(stream=stream, sequence=sequence, reason=reason)
        commit = Commit(
            id=hashlib.sha256(encode(event) + str(head.sequence).encode()).hexdigest()[:32],
            prev_hash=head.sha256 or GENESIS,
            partition=CONTROL,
            base=head.sequence,
            inputs=(),
            author="operator",
            epoch=0,
            rules="1",
            at=ScaledClock().now(),
            events=(event,),
        )
        await control.append("kuelog.control.operator", encode(commit), message_id=commit.id, base=head.sequence)
    finally:
        await bus.close()
