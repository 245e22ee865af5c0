"""A witness folder that several real processes share, whose disk is full, or whose lock a frozen process holds."""

import asyncio
import os
import resource
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import msgspec

from ops.files.whole_file import write_whole
from ops.production.archive.proof.checkpoint import Checkpoint
from ops.production.archive.proof.witness import HEADS, HeadWitness
from ops.production.log.jetstream.bus import connect
from ops.production.log.memory import MemoryStream
from ops.production.log.server.server import NatsServer
from services.runtime.log_port import Entry, Message, Stream
from tests.places import ROOT

WITNESSES = """
import asyncio, sys
from pathlib import Path
from ops.production.log.jetstream.bus import connect
from ops.production.archive.proof.witness import HeadWitness

async def main(url, folder):
    bus = await connect(url)
    witness = HeadWitness(Path(folder))
    facts = await bus.stream("FACTS")
    while (head := witness.seen("FACTS")) is None or head.sequence < 300:
        await witness.check(facts)
        await witness.witness(facts)
    await bus.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_several_processes_witness_into_one_folder_and_none_ends_or_goes_back(tmp_path: Path) -> None:
    server, folder = NatsServer(tmp_path / "nats"), tmp_path / "witness"
    await server.start()
    bus = await connect(server.url)
    try:
        facts = await bus.stream("FACTS")
        processes = [
            await asyncio.create_subprocess_exec(
                sys.executable, "-c", WITNESSES, server.url, str(folder), cwd=ROOT, stderr=PIPE
            )
            for _ in range(4)
        ]
        seen = 0
        for number in range(300):
            await facts.publish([Message("kuelog.facts.x", b"x", f"m{number}")])
            if (folder / HEADS).exists():
                heads = msgspec.json.decode((folder / HEADS).read_bytes(), type=dict[str, Checkpoint])
                now = heads["FACTS"].sequence if "FACTS" in heads else 0
                assert now >= seen
                seen = now
        told = [(await process.communicate())[1].decode() for process in processes]
        assert [process.returncode for process in processes] == [0] * 4, told
        witness = HeadWitness(folder)
        head = witness.seen("FACTS")
        assert head is not None and head.sequence == 300
        assert (folder / "FACTS.leaves").stat().st_size == 300 * 32
        await witness.check(facts)
        assert not [path for path in folder.iterdir() if path.name.endswith(".new")]
    finally:
        await bus.close()
        await server.stop()


class Held:
    """A stream whose reader is kept from going on once it has read."""

    def __init__(self, stream: Stream) -> None:
        self.name, self._stream = stream.name, stream
        self.read_all, self.go_on = asyncio.Event(), asyncio.Event()

    async def read(self, after: int = 0) -> AsyncIterator[list[Entry]]:
        async for batch in self._stream.read(after):
            yield batch
        self.read_all.set()
        await self.go_on.wait()


async def test_who_was_slow_does_not_write_over_what_another_has_witnessed_meanwhile(tmp_path: Path) -> None:
    facts, partition = MemoryStream("FACTS"), MemoryStream("LOG_0")
    slow, quick = HeadWitness(tmp_path), HeadWitness(tmp_path)
    await facts.publish([Message("kuelog.facts.x", b"x", f"m{i}") for i in range(5)])
    held = Held(facts)
    witnessing = asyncio.create_task(slow.witness(cast(Stream, held)))
    await held.read_all.wait()
    await facts.publish([Message("kuelog.facts.x", b"x", f"n{i}") for i in range(5)])
    await partition.publish([Message("kuelog.log.0.x", b"y", "y")])
    await quick.witness(facts)
    await quick.witness(partition)
    held.go_on.set()
    await witnessing
    stored = HeadWitness(tmp_path)
    assert [head.sequence if (head := stored.seen(name)) else 0 for name in ("FACTS", "LOG_0")] == [10, 1]
    await slow.witness(facts)
    assert stored.seen("FACTS") == slow.seen("FACTS")


def test_a_file_that_does_not_fit_on_the_disk_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "heads.json"
    write_whole(path, b"old")
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_whole(path, b"x" * 5000)
        except OSError:
            os._exit(3)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
