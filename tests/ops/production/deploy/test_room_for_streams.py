"""The servers of an installation have room for the streams that its Job makes, and for those that roll."""

import asyncio
import os
import re
from pathlib import Path

import pytest

from events.subjects import FACTS, commit_subject, fact_subject
from ops.production.deploy.bus import configuration_text, server_configuration, user_in, users_of
from ops.production.deploy.chart import CHOICES, manifests
from ops.production.log.jetstream.bus import connect
from ops.production.log.jetstream.rolling import roll
from ops.production.log.server.server import nats_binary
from ops.production.log.streams import streams_of
from services.runtime.log_port import Message
from tests.ops.production.deploy.test_bus_users import address
from tests.stage.forked_commands import forked
from tests.stage.ports import reserved_port

GIB = 1 << 30
OF_A_FRESH_VOLUME = "15Gi"
"""What a server takes that is told nothing, of a volume of 20 GiB: three quarters."""


def speaks(stream: str) -> tuple[str, str]:
    """A user who may say something on a stream, and the subject of that."""
    if stream == FACTS:
        return "watcher", fact_subject("", "PodsGone")
    if stream.startswith("DEVICES"):
        return "accountant", commit_subject(stream, "accountant")
    return user_in("admitter", stream.removeprefix("LOG_")), commit_subject(stream, "admitter")


@pytest.mark.parametrize("partitions", [1, 3])
async def test_all_streams_are_made_and_may_roll_at_once(tmp_path: Path, partitions: int) -> None:
    made, streams, port = manifests({**CHOICES, "partitions": partitions}), streams_of(partitions), reserved_port()
    [text] = [one["data"]["nats.conf"] for one in made["nats"] if one["kind"] == "ConfigMap"]
    said = re.search(r'"max_file_store": (\w+)', text)
    room = said[1] if said else OF_A_FRESH_VOLUME
    jetstream = {"store_dir": str(tmp_path), "max_file_store": f"<< {room} >>"}
    whole = {"port": port, "host": "127.0.0.1", "jetstream": jetstream, **server_configuration(streams)}
    (tmp_path / "nats.conf").write_text(configuration_text(whole))
    env = {**os.environ, **{one.variable: f"p{one.name}" for one in users_of(streams)}}
    quiet = asyncio.subprocess.DEVNULL
    server = await asyncio.create_subprocess_exec(
        nats_binary(), "-c", str(tmp_path / "nats.conf"), env=env, stdout=quiet, stderr=quiet
    )
    try:
        await (await connect(address(port, "reader"), patience=20)).close()
        [job] = [one for one in made["streams"] if one["kind"] == "Job"]
        words = [*job["spec"]["template"]["spec"]["containers"][0]["args"], "--replicas", "1"]
        done = await asyncio.to_thread(forked, words, env={**env, "KUELOG_NATS": address(port, "streams")})
        assert done.returncode == 0, done.stderr
        archivist = await connect(address(port, "archivist"))
        for name in streams.rolled:
            user, subject = speaks(name)
            own = await connect(address(port, user))
            stream = await own.stream(name)
            if name == FACTS:
                await stream.publish([Message(subject, b"{}", "one")])
            else:
                await stream.append(subject, b"{}", message_id="one", base=0)
            await own.close()
            assert await roll(archivist, name) >= 1, "it goes on in a fresh one while the old one still stands"
        await archivist.close()
    finally:
        server.terminate()
        await server.wait()


def test_the_volume_holds_what_the_streams_of_one_partition_may_hold() -> None:
    made = manifests()
    [servers] = [one for one in made["nats"] if one["kind"] == "StatefulSet"]
    [volume] = servers["spec"]["volumeClaimTemplates"]
    size = int(volume["spec"]["resources"]["requests"]["storage"].removesuffix("Gi")) * GIB
    shelf = 1
    count = len(streams_of(1).witnessed) + shelf + len(streams_of(1).rolled)
    # What a file system keeps for itself is no room.
    assert count * int(CHOICES["bus"]["maxBytes"]) <= size * 0.95


def test_a_hub_with_a_larger_volume_may_fill_it_with_the_copies_of_its_sites() -> None:
    bus = {**CHOICES["bus"], "sites": ["east"], "storage": "200Gi"}
    made = manifests({**CHOICES, "bus": bus})["nats"]
    [text] = [one["data"]["nats.conf"] for one in made if one["kind"] == "ConfigMap"]
    assert '"max_file_store": 200Gi' in text
    [servers] = [one for one in made if one["kind"] == "StatefulSet"]
    assert servers["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "200Gi"
