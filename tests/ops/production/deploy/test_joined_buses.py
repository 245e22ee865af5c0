"""A hub and a site with the configuration that an installation gives their servers: each log stays its own, and the copy is the site's."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from events.json_object import JsonObject
from events.subjects import commit_subject
from ops.production.deploy.bus import (
    HUB_VARIABLE,
    configuration_text,
    joined_configuration,
    server_configuration,
    users_of,
)
from ops.production.deploy.nats import chart_values
from ops.production.log.jetstream.copies import check_copied, keep_copies
from ops.production.log.jetstream.rolling import StillNeeded, roll
from ops.production.log.server.server import nats_binary
from ops.production.log.sites import SiteRefused, copier_user, joining_of, leaf_user, reader_user, users_of_site
from ops.production.log.streams import PARTITION, SOLE
from services.runtime.log_errors import LogUnavailable
from tests.ops.production.deploy.test_bus_users import address
from tests.stage.ports import reserved_port
from tests.stage.sites import at


@asynccontextmanager
async def server(folder: Path, sites: tuple[str, ...], join_as: str, leaf_port: int, **more: str) -> AsyncIterator[int]:
    """A server as it is configured for an installation."""
    port, whole = reserved_port(), server_configuration(SOLE)
    joined = joined_configuration(sites, join_as)
    whole["accounts"].update(joined.get("accounts", {}))
    leaves: JsonObject = joined["leafnodes"]
    if sites:
        leaves["port"] = leaf_port
    whole |= {"port": port, "host": "127.0.0.1", "server_name": join_as or "hub", "leafnodes": leaves}
    whole["jetstream"] = {"store_dir": str(folder), **joined["jetstream"]}
    folder.mkdir()
    path = folder / "nats.conf"
    path.write_text(configuration_text(whole))
    named = [*users_of(SOLE), *(one for site in sites for one in users_of_site(site))]
    env = {**os.environ, **{one.variable: f"p{one.name}" for one in named}, **more}
    started = await asyncio.create_subprocess_exec(
        nats_binary(), "-c", str(path), env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with at(address(port, "streams"), patience=20) as made:
            for name in SOLE.every:
                await made.stream(name)
        yield port
    finally:
        started.terminate()
        await started.wait()


async def test_what_a_site_decides_is_copied_by_its_users_alone_and_never_lands_on_the_log_of_the_hub(
    tmp_path: Path,
) -> None:
    leaf = reserved_port()
    joins = f"nats-leaf://{leaf_user('east')}:p{leaf_user('east')}@127.0.0.1:{leaf}"
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(server(tmp_path / "hub", ("east", "west"), "", leaf))
        site = await stack.enter_async_context(server(tmp_path / "site", (), "east", leaf, **{HUB_VARIABLE: joins}))
        copier = address(hub, copier_user("east"))
        here, there = [await stack.enter_async_context(at(one)) for one in (copier, f"{copier}/east")]
        while True:
            try:
                made = await keep_copies(here, there)
                break
            except LogUnavailable:
                await asyncio.sleep(0.05)
        assert set(SOLE.every) <= set(made)
        decider = await stack.enter_async_context(at(address(site, "admitter")))
        stream = await decider.stream(PARTITION)
        await stream.append(commit_subject(PARTITION, "admitter"), b"{}", message_id="a", base=0)
        reader = await stack.enter_async_context(at(address(hub, reader_user("east"))))
        async for batch in (await reader.stream(PARTITION)).follow(0):
            assert [one.data for one in batch] == [b"{}"]
            break
        own = await stack.enter_async_context(at(address(hub, "reader")))
        assert (await (await own.stream(PARTITION)).last()).sequence == 0, "the hub's own log is another one"
        archivist = await stack.enter_async_context(at(address(site, "archivist")))
        await roll(archivist, PARTITION)
        while True:
            try:
                await check_copied(archivist, PARTITION)
                break
            except StillNeeded as needed:
                assert "of 2 messages" in str(needed)
                await asyncio.sleep(0.05)


def test_the_values_for_the_chart_of_nats_say_the_same_of_hub_and_site() -> None:
    hub, site = chart_values(sites=("east",)), chart_values(join_as="east")
    joined = joined_configuration(("east",), "")
    assert hub["config"]["leafnodes"] == {"enabled": True, "port": 7422, "merge": {"no_advertise": True}}
    assert hub["config"]["jetstream"]["merge"] == {"domain": "hub"}
    assert hub["config"]["merge"]["accounts"]["SITE_east"] == joined["accounts"]["SITE_east"]
    assert {one.variable for one in users_of_site("east")} <= set(hub["container"]["env"])
    remotes = joined_configuration((), "east")["leafnodes"]["remotes"]
    assert site["config"]["leafnodes"]["merge"] == {"remotes": remotes}
    assert remotes[0]["account"] == "KUELOG" and remotes[0]["urls"] == [f"<< ${HUB_VARIABLE} >>"]
    assert site["config"]["jetstream"]["merge"] == {"domain": "east"}
    assert HUB_VARIABLE in site["container"]["env"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nats-leaf://hub:7422", "write nats-leaf://site-NAME:PASSWORD@HOST:PORT"),
        ("nats-leaf://site-hub:p@hub:7422", "site hub: it is the JetStream domain of its bus"),
        ("nats-leaf://site-East:p@hub:7422", "site East: it is the JetStream domain of its bus"),
        ("nats-leaf://site-a:p@h:1,nats-leaf://site-b:p@h:1", "several sites (a, b)"),
    ],
)
def test_an_address_that_names_no_hub_says_what_to_write(text: str, says: str) -> None:
    with pytest.raises(SiteRefused) as found:
        joining_of(text)
    assert says in str(found.value)


def test_a_hub_is_no_site_of_another_one() -> None:
    with pytest.raises(SiteRefused, match="a hub is no site"):
        joined_configuration(("west",), "east")
