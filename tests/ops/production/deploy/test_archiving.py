"""The job that keeps the log short runs a command that kuelog knows, and the rights of its user suffice for all of it."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from events.subjects import FACTS
from ops.production.archive.archive import segments_of
from ops.production.archive.folder import Folder
from ops.production.deploy.archiving import ARCHIVIST
from ops.production.deploy.chart import CHOICES, manifests
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.generations import generations
from ops.production.log.jetstream.shelf import WATCHER
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from services.runtime.log_port import Entry, Message
from tests.ops.production.deploy.test_bus_users import address, bus
from tests.ops.queries.audit.logs import WORLD, log_of, view_of
from tests.stage.forked_commands import forked

PLACE = "/var/lib/kuelog"
AUTHORS = {PARTITION: "queue-manager", DEVICE_PARTITION: "accountant", FACTS: "watcher"}
COUNT = 8


def command(port: int, place: Path) -> list[str]:
    """What the container runs, with its bus and its volume here."""
    choices = {**CHOICES, "archivist": {**CHOICES["archivist"], "maxBytes": "1"}}
    jobs: list[Any] = [one for part in manifests(choices).values() for one in part if one["kind"] == "CronJob"]
    (container,) = jobs[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    (told,) = [one["value"] for one in container["env"] if one["name"] == "KUELOG_NATS"]
    url = told.replace("$(KUELOG_PASSWORD)", f"p{ARCHIVIST}").replace("kuelog-nats:4222", f"127.0.0.1:{port}")
    assert url == address(port, ARCHIVIST) and PLACE in {one["mountPath"] for one in container["volumeMounts"]}
    return [one.replace("$(KUELOG_NATS)", url).replace(PLACE, str(place)) for one in container["args"]]


async def run(words: list[str]) -> None:
    done = await asyncio.to_thread(forked, words, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr


async def store(on: JetStreamBus, entries: list[Entry]) -> None:
    for entry in entries:
        stream = await on.stream(entry.stream)
        if entry.stream == FACTS:
            await stream.publish([Message(entry.subject, entry.data, entry.message_id)])
        else:
            await stream.append(entry.subject, entry.data, message_id=entry.message_id, base=entry.sequence - 1)
    name = entries[-1].stream
    upto = {one: entries[-1].sequence for one in AUTHORS}
    await on.shelf.put(
        WATCHER if name == FACTS else name,
        [view_of(entries[-1]) if name == FACTS else WORLD],
        upto=upto,
        rules="1",
    )


@pytest.mark.timeout(180)
async def test_what_the_job_runs_rolls_archives_and_removes(tmp_path: Path) -> None:
    log, place = log_of(COUNT, devices=COUNT, world=WORLD), tmp_path / "volume"
    (tmp_path / "bus").mkdir()
    async with bus(tmp_path / "bus") as port:
        on = {name: await connect(address(port, author)) for name, author in AUTHORS.items()}
        for begin, end in ((0, COUNT // 2), (COUNT // 2, COUNT)):
            for name in AUTHORS:
                await store(on[name], log[name][begin:end])
            await run(command(port, place))
        for name in AUTHORS:
            assert [one.first for one in await generations(on[name].client, name)] == [COUNT // 2 + 1]
            await on[name].close()
    archived = {one.stream: one.last for one in segments_of(Folder(str(place / "archive")))}
    assert archived == dict.fromkeys(AUTHORS, COUNT)
