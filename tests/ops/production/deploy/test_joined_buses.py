"""A hub and a site with the configuration that an installation gives their servers: each log stays its own, and the copy is the site's."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from events.json_object import JsonObject
from events.subjects import commit_subject
from ops.production.deploy.bus import (
    CERTIFICATES,
    HUB_AUTHORITY,
    HUB_VARIABLE,
    BusLinks,
    joined_configuration,
    server_file,
    users_of,
)
from ops.production.deploy.chart import CHOICES, ChoiceRefused, manifests
from ops.production.deploy.nats import chart_values
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.copies import check_copied, keep_copies
from ops.production.log.jetstream.encryption import AUTHORITY
from ops.production.log.jetstream.rolling import StillNeeded, roll
from ops.production.log.server.server import nats_binary
from ops.production.log.sites import (
    SiteRefused,
    copier_user,
    joining_of,
    leaf_user,
    reader_user,
    site_side,
    users_of_site,
)
from ops.production.log.streams import PARTITION, SOLE
from services.runtime.log_errors import LogUnavailable
from tests.ops.production.deploy.test_bus_users import address
from tests.stage.authority import Authority
from tests.stage.ports import reserved_port
from tests.stage.sites import at

SERVERS = range(3)
HUB_LINKS = BusLinks(sites=("east", "west"), certificate="kuelog-nats-tls")
SITE_LINKS = BusLinks(join_as="east", certificate="kuelog-nats-tls", hub_authority=True)


def here(text: str, folder: Path, own: int, ports: dict[int, list[int]], certificates: Path, hub: Path) -> str:
    """The file of an installation, where three pods are three processes on this machine; nothing else of it changes."""
    routes = ports[6222]
    for number in SERVERS:
        peer = f"kuelog-nats-{number}.kuelog-nats-headless.kuelog-system.svc.cluster.local:6222"
        assert peer in text
        text = text.replace(peer, f"127.0.0.1:{routes[number]}")
    for kept, chosen in ports.items():
        text = text.replace(f'"port": {kept}', f'"host": "127.0.0.1", "port": {chosen[own]}')
    text = text.replace('"http_port": 8222', '"http_port": -1').replace("/data", str(folder / "data"))
    text = re.sub(f"{CERTIFICATES}/[a-z]+", str(certificates), text).replace(HUB_AUTHORITY, str(hub))
    assert "/etc/" not in text
    return text


@asynccontextmanager
async def three_servers(
    folder: Path, links: BusLinks, certificates: Path, hub: Path, **more: str
) -> AsyncIterator[dict[int, list[int]]]:
    """The servers of one installation, by the port of a pod those on which they are reached."""
    ports = {kept: [reserved_port() for _ in SERVERS] for kept in (4222, 6222, 7422)}
    named = [*users_of(SOLE), *(one for site in links.sites for one in users_of_site(site))]
    env = {**os.environ, **{one.variable: f"p{one.name}" for one in named}, **more}
    text = server_file("kuelog-system", SOLE, links)
    async with AsyncExitStack() as stack:
        for number in SERVERS:
            room = folder / str(number)
            room.mkdir(parents=True)
            path = room / "nats.conf"
            path.write_text(here(text, room, number, ports, certificates, hub))
            started = await asyncio.create_subprocess_exec(
                *(nats_binary(), "-c", str(path), "-l", str(room / "nats.log")),
                env={**env, "POD_NAME": f"kuelog-nats-{number}"},
            )
            stack.push_async_callback(started.wait)
            stack.callback(started.terminate)
        yield ports


@asynccontextmanager
async def three_times(where: str) -> AsyncIterator[JetStreamBus]:
    """A connection of who has each stream held by every server, as soon as these have found each other."""
    found = await connect(where, replicas=len(SERVERS), max_bytes=1 << 24, patience=60)
    try:
        while True:
            try:
                await found.stream(PARTITION)
                break
            except LogUnavailable:
                await asyncio.sleep(0.05)
        yield found
    finally:
        await found.close()


def encrypted(port: int, user: str) -> str:
    return address(port, user).replace("nats://", "tls://")


async def test_what_a_site_decides_is_copied_by_its_users_alone_in_tls_and_never_lands_on_the_log_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_hub = Authority("of the hub").issue(tmp_path / "hub-certificates")
    of_site = Authority("of the site").issue(tmp_path / "site-certificates")
    both = tmp_path / "both.crt"
    both.write_text("".join((one / "ca.crt").read_text() for one in (of_hub, of_site)))
    monkeypatch.setenv(AUTHORITY, str(both))
    async with asyncio.timeout(100), AsyncExitStack() as stack:
        hub = await stack.enter_async_context(three_servers(tmp_path / "hub", HUB_LINKS, of_hub, of_hub))
        joins = ",".join(f"tls://{leaf_user('east')}:p{leaf_user('east')}@127.0.0.1:{one}" for one in hub[7422][:1])
        opened = three_servers(tmp_path / "site", SITE_LINKS, of_site, of_hub, **{HUB_VARIABLE: joins})
        site = await stack.enter_async_context(opened)
        for ports in (hub, site):
            async with three_times(encrypted(ports[4222][0], "streams")) as made:
                for name in SOLE.every:
                    await made.stream(name)
        copier = encrypted(hub[4222][1], copier_user("east"))
        kept = await connect(copier, replicas=3, max_bytes=1 << 24)
        stack.push_async_callback(kept.close)
        there = await stack.enter_async_context(at(f"{copier}/east"))
        while True:
            try:
                made = await keep_copies(kept, there)
                break
            except LogUnavailable:
                await asyncio.sleep(0.05)
        assert set(SOLE.every) <= set(made)
        decider = await stack.enter_async_context(at(encrypted(site[4222][1], "admitter")))
        stream = await decider.stream(PARTITION)
        await stream.append(commit_subject(PARTITION, "admitter"), b"{}", message_id="a", base=0)
        reader = await stack.enter_async_context(at(encrypted(hub[4222][2], reader_user("east"))))
        async for batch in (await reader.stream(PARTITION)).follow(0):
            assert [one.data for one in batch] == [b"{}"]
            break
        own = await stack.enter_async_context(at(encrypted(hub[4222][0], "reader")))
        assert (await (await own.stream(PARTITION)).last()).sequence == 0, "the hub's own log is another one"
        archivist = await stack.enter_async_context(at(encrypted(site[4222][2], "archivist")))
        await roll(archivist, PARTITION)
        while True:
            try:
                await check_copied(archivist, PARTITION)
                break
            except StillNeeded as needed:
                assert "of 2 messages" in str(needed)
                await asyncio.sleep(0.05)


def test_the_values_for_the_chart_of_nats_say_the_same_of_hub_and_site() -> None:
    hub, site = chart_values(links=BusLinks(sites=("east",))), chart_values(links=BusLinks(join_as="east"))
    joined = joined_configuration(BusLinks(sites=("east",)))
    assert hub["config"]["leafnodes"] == {"enabled": True, "port": 7422, "merge": {"no_advertise": True}}
    assert hub["config"]["jetstream"]["merge"] == {"domain": "hub"}
    assert hub["config"]["merge"]["accounts"]["SITE_east"] == joined["accounts"]["SITE_east"]
    assert {one.variable for one in users_of_site("east")} <= set(hub["container"]["env"])
    remotes = joined_configuration(BusLinks(join_as="east"))["leafnodes"]["remotes"]
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


def test_the_chart_of_nats_is_told_of_certificates_and_that_the_cluster_of_a_site_is_called_otherwise() -> None:
    hub, site = chart_values(links=HUB_LINKS)["config"], chart_values(links=SITE_LINKS)
    shown = {"enabled": True, "secretName": "kuelog-nats-tls"}
    assert hub["nats"]["tls"] == hub["leafnodes"]["tls"] == shown
    proven = {"ca_file": "/etc/nats-certs/cluster/ca.crt", "verify": True}
    assert hub["cluster"]["tls"] == {**shown, "merge": proven}
    assert "merge" not in hub["cluster"] and site["config"]["cluster"]["merge"] == {"name": "kuelog-east"}
    [remote] = site["config"]["leafnodes"]["merge"]["remotes"]
    assert remote["tls"] == {"ca_file": "/etc/nats-hub/ca.crt"}
    [volume], [mount] = site["podTemplate"]["patch"], site["container"]["patch"]
    assert volume["value"]["secret"] == {"secretName": "kuelog-hub", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    assert mount["value"]["mountPath"] == "/etc/nats-hub"


def linked(**bus: Any) -> dict[tuple[str, str], JsonObject]:
    """The plain manifests of the bus with these values, by kind and name."""
    found = manifests({**CHOICES, "bus": {**CHOICES["bus"], **bus}})
    return {(one["kind"], one["metadata"]["name"]): one for part in ("nats", "services") for one in found[part]}


def test_plain_manifests_link_a_hub_and_a_site_as_the_chart_does() -> None:
    hub, site = linked(scheme="tls", sites=["east", "west"]), linked(scheme="tls", joinAs="east", hubAuthority=True)
    for found, links in ((hub, HUB_LINKS), (site, SITE_LINKS)):
        text = found["ConfigMap", "kuelog-nats"]["data"]["nats.conf"]
        assert text == server_file("kuelog-system", SOLE, links, "32Gi")
        [server] = found["StatefulSet", "kuelog-nats"]["spec"]["template"]["spec"]["containers"]
        assert set(re.findall(r"\$(KUELOG_\w+)", text)) <= {one["name"] for one in server["env"]}
        folders = {str(Path(one).parent) for one in re.findall(r'"(/etc/[^"]+)"', text)}
        assert folders == {one["mountPath"] for one in server["volumeMounts"]} - {"/etc/nats", "/data"}
        [watcher] = found["Deployment", "kuelog-watcher"]["spec"]["template"]["spec"]["containers"]
        env = {one["name"]: one.get("value") for one in watcher["env"]}
        assert env["KUELOG_NATS"] == "tls://watcher:$(KUELOG_PASSWORD)@kuelog-nats:4222"
        assert Path(env[AUTHORITY]).parent in {Path(one["mountPath"]) for one in watcher["volumeMounts"]}
    ports = {one["port"] for one in hub["Service", "kuelog-nats"]["spec"]["ports"]}
    assert ports == {4222, 7422}
    assert 7422 not in {one["port"] for one in site["Service", "kuelog-nats"]["spec"]["ports"]}


@pytest.mark.parametrize(
    ("bus", "says"),
    [
        ({"scheme": "http"}, "bus.scheme: http: write one of nats, tls"),
        ({"sites": "east"}, "bus.sites: east: write a list of names"),
        ({"hubAuthority": "no"}, "bus.hubAuthority: no: write true or false"),
        ({"sites": ["East"]}, "bus: site East: it is the JetStream domain"),
        ({"sites": ["east"], "joinAs": "west"}, "a hub is no site of another one"),
        ({"sites": ["east", "east"]}, "bus: site east is named twice"),
        ({"hubAuthority": True}, "the authority of a hub is for a site"),
    ],
)
def test_values_that_link_nothing_say_what_to_write(bus: JsonObject, says: str) -> None:
    with pytest.raises(ChoiceRefused) as found:
        linked(**bus)
    assert says in str(found.value)


def test_a_run_on_one_machine_believes_a_hub_in_tls_by_the_authority_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(AUTHORITY, str(tmp_path / "ca.crt"))
    [remote] = site_side(joining_of("tls://site-east:p@hub:7422"))["leafnodes"]["remotes"]
    assert remote["tls"] == {"ca_file": str(tmp_path / "ca.crt")}
    [plain] = site_side(joining_of("nats-leaf://site-east:p@hub:7422"))["leafnodes"]["remotes"]
    assert "tls" not in plain


def test_a_hub_is_no_site_of_another_one() -> None:
    with pytest.raises(SiteRefused, match="a hub is no site"):
        joined_configuration(BusLinks(sites=("west",), join_as="east"))
