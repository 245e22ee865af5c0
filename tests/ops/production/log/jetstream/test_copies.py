"""The copy of a site's log at the hub, with two real servers: the same messages, and nobody changes what is not theirs."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from msgspec.structs import replace
from nats.errors import NoRespondersError

from ops.production.fold_positions import FoldPositions
from ops.production.health import Health
from ops.production.log.jetstream import copies
from ops.production.log.jetstream.bus import JetStreamBus, connect
from ops.production.log.jetstream.copies import SiteState, check_copied, site_state
from ops.production.log.jetstream.generations import asked, generations, mark_subject
from ops.production.log.jetstream.rolling import StillNeeded, remove, roll
from ops.production.log.memory import MemoryBus
from ops.production.log.site_copies import SiteCopies
from ops.production.log.sites import HUB, reader_user
from ops.production.log.streams import PARTITION, SOLE, LogStreams
from ops.production.metrics.endpoint import exposition
from ops.production.metrics.services import ServiceMetrics
from ops.production.process.clock import ScaledClock
from ops.production.wiring import Ports, Running
from services.runtime.log_errors import LogUnavailable, NotAllowed
from services.runtime.log_port import Entry
from tests.stage.sites import SITE, HubAndSite, at, hub_and_site

SUBJECT = "kuelog.log.0.test"


@pytest_asyncio.fixture
async def both(tmp_path: Path) -> AsyncIterator[HubAndSite]:
    async with hub_and_site(tmp_path) as found:
        yield found


async def alone(both: HubAndSite) -> JetStreamBus:
    """The site's own bus, its streams there."""
    assert both.site is not None
    site = await connect(both.site.url)
    for name in SOLE.every:
        await site.stream(name)
    return site


async def reached(both: HubAndSite) -> JetStreamBus:
    """The site's own bus, its streams there, and copied at the hub."""
    site = await alone(both)
    await both.copies_kept()
    return site


async def appended(bus: JetStreamBus, count: int) -> None:
    stream = await bus.stream(PARTITION)
    base = (await stream.last()).sequence
    for number in range(base, base + count):
        await stream.append(SUBJECT, b'{"n":%d}' % number, message_id=f"m{number}", base=number)


async def state(both: HubAndSite) -> SiteState:
    async with at(both.copy()) as here, at(both.beyond()) as there:
        return await site_state(SITE, here, there)


async def everything_behind(bus: JetStreamBus, known: list[Entry]) -> list[Entry]:
    return [entry async for batch in (await bus.stream(PARTITION)).read(len(known)) for entry in batch]


async def free_hand(both: HubAndSite) -> JetStreamBus:
    """Somebody at the hub in the account of the site whom the hub lets do anything there."""
    return await connect(f"nats://anybody:panybody@127.0.0.1:{both.hub.port}")


async def everything(bus: JetStreamBus, name: str) -> list[Entry]:
    return [entry async for batch in (await bus.stream(name)).read() for entry in batch]


async def test_a_copy_holds_the_same_messages_under_the_same_sequences_with_the_times_of_the_site(
    both: HubAndSite,
) -> None:
    site = await reached(both)
    await appended(site, 20)
    async with at(both.copy()) as reader:
        assert await both.copied(PARTITION, 20) == await everything(site, PARTITION)
        end = await (await site.stream(PARTITION)).last()
        assert await (await reader.stream(PARTITION)).last() == replace(end, copied=True), "and says that it is one"
    async with at(both.beyond()) as through:
        assert await everything(through, PARTITION) == await everything(site, PARTITION)
    await site.close()


async def test_a_site_that_is_cut_off_goes_on_alone_and_what_it_stored_comes_when_it_is_back(both: HubAndSite) -> None:
    site = await reached(both)
    await appended(site, 5)
    async with at(both.copy()) as reader:
        await both.copied(PARTITION, 5)
        both.line.cut()
        await appended(site, 7)
        away = await state(both)
        assert not away.connected
        assert away.behind is None
        assert "not connected, heard 0 s ago" in away.describe()
        assert len(await everything(reader, PARTITION)) == 5
        with pytest.raises(LogUnavailable, match="no site east is connected to that bus at the moment"):
            async with at(both.beyond()) as through:
                await through.stream(PARTITION)
        both.line.mend()
        assert await both.copied(PARTITION, 12) == await everything(site, PARTITION)
    back = await state(both)
    assert back.describe() == "east: connected, the copy is whole"
    await site.close()


async def test_who_looks_at_copies_names_the_sites_that_are_away_and_tells_how_far_they_have_come(
    both: HubAndSite,
) -> None:
    site = await reached(both)
    await appended(site, 3)
    await both.copied(PARTITION, 3)
    copies = SiteCopies({SITE: both.copy(), "west": both.copy(reader_user("west"))})
    try:
        await copies.look()
        assert copies.worth_knowing == [
            "site west: nothing of it is copied yet: it is not connected, or its log has not begun"
        ]
        nobody = cast(Any, None)
        running = Running(Ports(bus=MemoryBus(), reader=nobody, writer=nobody, clock=ScaledClock(), sites=copies), ())
        assert await Health(running).worth_knowing() == copies.worth_knowing
        found = set(exposition(lambda: None, (), ServiceMetrics(running, FoldPositions())).decode().splitlines())
        assert {
            'kuelog_site_connected{site="east"} 1.0',
            'kuelog_site_connected{site="west"} 0.0',
            f'kuelog_site_behind_messages{{site="east",stream="{PARTITION}"}} 0.0',
        } <= found
        both.line.cut()
        await copies.look()
        assert copies.worth_knowing[0].startswith("site east: not connected, heard ")
    finally:
        await copies.close()
        await site.close()


async def test_a_site_whose_hub_is_not_there_starts_and_decides(tmp_path: Path) -> None:
    both = HubAndSite(tmp_path)
    await both.line.open()
    server = both.server_of_site(tmp_path / SITE)
    await server.start()
    try:
        async with at(server.url) as bus:
            await appended(bus, 2)
            assert (await (await bus.stream(PARTITION)).last()).sequence == 2
    finally:
        await server.stop()
        await both.line.close()


@pytest.mark.parametrize(
    "turns",
    [
        1,
        pytest.param(
            2,
            marks=pytest.mark.skipif(
                "KUELOG_CHAOS" not in os.environ, reason="the server takes its time to ask anew: make chaos plays it"
            ),
        ),
    ],
)
async def test_a_copy_goes_over_the_seams_of_what_was_rolled_and_keeps_what_the_site_has_removed(
    both: HubAndSite, turns: int
) -> None:
    site = await alone(both)
    whole: list[Entry] = []
    for turn in range(turns):
        await appended(site, 6)
        whole += await everything_behind(site, whole)
        upto = await roll(site, PARTITION)
        assert upto == len(whole)
        await appended(site, 1)
        if not turn:
            await both.copies_kept()
        while True:
            try:
                await check_copied(site, PARTITION)
                break
            except StillNeeded:
                await asyncio.sleep(0.05)
        await remove(site, PARTITION)
    whole += await everything_behind(site, whole)
    async with at(both.copy()) as reader:
        assert await both.copied(PARTITION, len(whole)) == whole
        assert [(one.name, one.first) for one in await generations(reader.client, PARTITION)] == [
            (PARTITION, 1),
            (f"{PARTITION}-2", 7),
            (PARTITION, 14),
        ][: turns + 1]
    await site.close()


async def test_under_one_name_a_copy_holds_one_after_the_other_what_had_that_name_and_counts_nothing_behind_a_gap(
    both: HubAndSite,
) -> None:
    assert both.site is not None
    # As a site leaves it that has rolled twice: 1 to 6 and a mark, 7 to 13 in the other one and a mark, 14 and on.
    subjects = [SUBJECT, mark_subject(PARTITION)]
    async with at(both.site.url) as bus:
        await changed(bus, "STREAM.CREATE.A", name="A", subjects=subjects)
        for number in range(1, 16):
            await bus.client.request(subjects[number == 7], b"a%d" % number, timeout=5)
        for number in range(8, 14):
            await changed(bus, "STREAM.MSG.DELETE.A", seq=number, no_erase=True)
        await changed(bus, "STREAM.UPDATE.A", name="A", subjects=["elsewhere"])
        await changed(bus, f"STREAM.CREATE.{PARTITION}", name=PARTITION, mirror={"name": "A"})
        while await held(bus) != [(1, 6)]:  # noqa: ASYNC110 - the server copies when it likes
            await asyncio.sleep(0.02)
        assert (await (await bus.stream(PARTITION)).last()).sequence == 6
        await changed(bus, "STREAM.CREATE.B", name="B", subjects=subjects, first_seq=7)
        for number in range(7, 15):
            await bus.client.request(subjects[number == 14], b"b%d" % number, timeout=5)
        await changed(bus, f"STREAM.CREATE.{PARTITION}-2", name=f"{PARTITION}-2", mirror={"name": "B"})
        while await held(bus) != [(1, 6), (7, 13), (14, 15)]:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.02)
        found = await everything(bus, PARTITION)
        assert [one.sequence for one in found] == list(range(1, 16))
        assert [one.data[:1] for one in found] == [b"a"] * 6 + [b"b"] * 7 + [b"a"] * 2


async def changed(bus: JetStreamBus, what: str, **body: Any) -> None:
    """Have the server change something about its streams."""
    safe = {"storage": "file", "discard": "new", "deny_purge": True, "deny_delete": "mirror" in body}
    safe = safe if "name" in body else {}
    answer = await asked(bus.client, what, {**safe, **body})
    assert answer.get("error") is None, answer


async def held(bus: JetStreamBus) -> list[tuple[int, int]]:
    """From where to where the copy of a stream counts."""
    return [(one.first, one.last) for one in await generations(bus.client, PARTITION)]


async def test_a_site_that_has_lost_what_was_copied_of_it_is_named(both: HubAndSite) -> None:
    site = await reached(both)
    await appended(site, 3)
    await both.copied(PARTITION, 3)
    await site.close()
    assert both.site is not None
    await both.site.kill()
    shutil.rmtree(both.site.store)
    await both.site.start()
    await (await alone(both)).close()
    while not (found := await state(both)).connected:  # noqa: ASYNC110 - its server comes back when it likes
        await asyncio.sleep(0.05)
    assert f"the site has lost what was copied of it: {PARTITION} ends at 0 and its copy at 3" in found.describe()
    assert not found.whole


async def test_a_site_whose_log_is_another_one_than_what_was_copied_is_named_however_long_it_is(
    both: HubAndSite,
) -> None:
    site = await reached(both)
    await appended(site, 3)
    await both.copied(PARTITION, 3)
    await site.close()
    assert (await state(both)).whole
    assert both.site is not None
    await both.site.kill()
    shutil.rmtree(both.site.store)
    await both.site.start()
    anew = await alone(both)
    await appended(anew, 4)
    await anew.close()
    while not (found := await state(both)).connected:  # noqa: ASYNC110 - its server comes back when it likes
        await asyncio.sleep(0.05)
    assert f"{PARTITION} at the site is another log than what was copied of it" in found.describe()
    assert not found.whole


async def test_what_was_rolled_stays_at_the_site_while_the_hub_is_away(both: HubAndSite) -> None:
    site = await reached(both)
    await appended(site, 2)
    await roll(site, PARTITION)
    both.line.cut()
    with pytest.raises(StillNeeded, match="the hub, which keeps a copy of it, is not connected"):
        await check_copied(site, PARTITION)
    await site.close()


async def test_who_may_read_a_copy_may_not_change_it_and_the_hub_changes_nothing_at_the_site(both: HubAndSite) -> None:
    site = await reached(both)
    await appended(site, 3)
    async with at(both.copy()) as reader:
        await both.copied(PARTITION, 3)
        with pytest.raises(NotAllowed):
            await (await reader.stream(PARTITION)).append(SUBJECT, b"{}", message_id="x", base=3)
    hub = await free_hand(both)
    for subject in (SUBJECT, f"$JS.{SITE}.API.STREAM.DELETE.{PARTITION}", f"$JS.{SITE}.API.STREAM.UPDATE.{PARTITION}"):
        with pytest.raises(NoRespondersError):
            await hub.client.request(subject, b"{}", timeout=5)
    assert len(await everything(site, PARTITION)) == 3
    # Nor does the site reach what is copied of it, but to see how far that has come.
    for verb in ("DELETE", "PURGE", "UPDATE"):
        with pytest.raises(NoRespondersError):
            await site.client.request(f"$JS.{HUB}.API.STREAM.{verb}.{PARTITION}", b"{}", timeout=5)
    told = await site.client.request(f"$JS.{HUB}.API.STREAM.INFO.{PARTITION}", b"{}", timeout=5)
    assert b'"last_seq":3' in told.data
    await hub.close()
    await site.close()


async def test_what_a_busy_site_stores_while_it_is_looked_at_is_on_its_way_and_not_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the copy of a site that never rests would never be whole, and `KuelogSiteBehind` would fire for ever."""
    here, there = cast(Any, object()), cast(Any, object())
    stored = 0

    async def end(bus: object, stream: str) -> int:
        nonlocal stored
        stored += 1 if bus is there else 0
        return stored

    async def nothing(*_: object) -> None:
        return None

    async def sole(*_: object) -> LogStreams:
        return SOLE

    monkeypatch.setattr(copies, "_end", end)
    monkeypatch.setattr(copies, "_is_another", nothing)
    monkeypatch.setattr(copies, "_silence", nothing)
    monkeypatch.setattr(copies, "streams_on", sole)
    state = await site_state("east", here, there)
    assert (state.behind, state.whole, state.amiss) == (0, True, False)
