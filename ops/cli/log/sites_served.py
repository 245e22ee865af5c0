"""What `kuelog sites` does: a hub on this machine, the copies of one site, and how those of several stand."""

import asyncio
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
from rich.console import Console

from ops.cli.failures import known_failures
from ops.cli.serving.serve import until_stopped
from ops.files.reading import bytes_of, json_of
from ops.files.run_folder import held, keep_from_demos
from ops.files.whole_file import write_whole
from ops.production.listeners.listening import PortTaken
from ops.production.log.jetstream.bus import connect
from ops.production.log.jetstream.copies import SiteState, keep_copies
from ops.production.log.server.server import NatsServer
from ops.production.log.site_copies import SiteCopies
from ops.production.log.sites import (
    HUB,
    SiteRefused,
    check_site,
    copier_user,
    hub_side,
    leaf_user,
    reader_user,
    users_of_site,
)
from ops.production.process.event_loop import run
from ops.terminal.form import AnswerForm, print_answer

_PASSWORDS = "passwords.json"
_EVERY_S, _SOON_S = 10.0, 1.0


def run_hub(
    data: Path, sites: Sequence[str], *, address: str, host: str, port: int, nats: int, console: Console
) -> int:
    """Serve a hub until Ctrl-C or SIGTERM."""
    with known_failures((SiteRefused,)) as outcome:
        for site in sites:
            check_site(site)
        run(until_stopped(_serve(data.resolve(), sorted(set(sites)), address, host, port, nats, console)))
        console.print("stopped")
        outcome.code = 0
    return outcome.code


def run_copy(site: str, nats: str, replicas: int, *, console: Console) -> int:
    """Have the hub copy the streams of one site."""

    async def copied() -> list[str]:
        async with AsyncExitStack() as stack:
            here = await connect(nats, replicas=replicas)
            stack.push_async_callback(here.close)
            there = await connect(f"{nats}/{check_site(site)}")
            stack.push_async_callback(there.close)
            return await keep_copies(here, there)

    with known_failures((SiteRefused,)) as outcome:
        made = asyncio.run(copied())
        text = f"copies of {', '.join(made)} are kept from now on" if made else "every stream is copied already"
        console.print(f"{site}: {text}", highlight=False)
        outcome.code = 0
    return outcome.code


def run_show(addresses: Mapping[str, str], output: AnswerForm, *, console: Console) -> int:
    """How the copies of these sites stand; 1 where one is not whole."""

    async def looked() -> SiteCopies:
        copies = SiteCopies(addresses)
        try:
            await copies.look()
            return copies
        finally:
            await copies.close()

    with known_failures() as outcome:
        states = list(asyncio.run(looked()).states.values())
        if output is AnswerForm.TEXT:
            for one in states:
                console.print(one.describe(), highlight=False)
        else:
            print_answer([{**msgspec.to_builtins(one), "behind": one.behind} for one in states], output)
        outcome.code = 0 if all(one.whole for one in states) else 1
    return outcome.code


async def _serve(
    data: Path, sites: Sequence[str], address: str, host: str, port: int, nats: int, console: Console
) -> None:
    async with AsyncExitStack() as stack:
        stack.enter_context(held(data))
        keep_from_demos(data)
        for what, where, number in (("leaf connections", address, port), ("the copies", "127.0.0.1", nats)):
            _check_free(what, where, number)
        passwords = _passwords(data, sites)
        further = hub_side(sites, passwords, host=address, port=port)
        server = NatsServer(data / "nats", name=HUB, port=nats, domain=HUB, further=further)
        stack.push_async_callback(server.stop)
        await server.start()
        console.print(f"hub {server.url}, leaf connections on {address}:{port} (Ctrl-C stops)", highlight=False)
        for site in sites:
            joins, reads = data / f"{site}.leaf", data / f"{site}.reader"
            _keep(joins, f"nats-leaf://{leaf_user(site)}:{passwords[leaf_user(site)]}@{host}:{port}\n")
            _keep(reads, f"nats://{reader_user(site)}:{passwords[reader_user(site)]}@127.0.0.1:{server.port}\n")
            console.print(f"{site}: joins by kuelog up --hub {joins}", highlight=False)
            console.print(f'{site}: is read by --worker {site}="$(cat {reads})"', highlight=False)
        copies = SiteCopies(
            {one: f"nats://{copier_user(one)}:{passwords[copier_user(one)]}@127.0.0.1:{server.port}" for one in sites}
        )
        stack.push_async_callback(copies.close)
        await _watch(copies, console)


async def _watch(copies: SiteCopies, console: Console) -> None:
    told = dict[str, str]()
    while True:
        await copies.look(copy=True)
        for site, one in copies.states.items():
            known = _standing(one, told.get(site, ""))
            if told.get(site) != known:
                told[site] = known
                console.print(one.describe(), highlight=False)
        await asyncio.sleep(_EVERY_S if all(one.connected for one in copies.states.values()) else _SOON_S)


def _standing(one: SiteState, before: str) -> str:
    """What is worth a line when it changes. A copy that was whole lags for a moment whenever something is decided."""
    if one.problem:
        return one.problem
    if not one.connected:
        return "not connected"
    if one.amiss:
        return "amiss"
    return "whole" if one.whole or before == "whole" else "on its way"


def _check_free(what: str, host: str, port: int) -> None:
    """Raise `PortTaken` for a port that the server could only wait for."""
    try:
        socket.create_server((host, port)).close()
    except OSError as problem:
        raise PortTaken(what, port, problem.strerror or str(problem)) from problem


def _passwords(data: Path, sites: Sequence[str]) -> dict[str, str]:
    """Those that were made before, and new ones for sites that are new. Raises `Unreadable`."""
    path = data / _PASSWORDS
    known = json_of(bytes_of(path), dict[str, str], path) if path.exists() else {}
    for one in (user for site in sites for user in users_of_site(site)):
        known.setdefault(one.name, f"p{secrets.token_hex(24)}")
    _keep(path, msgspec.json.encode(known).decode())
    return known


def _keep(path: Path, text: str) -> None:
    """Write what holds a password, for nobody else to read."""
    write_whole(path, text.encode(), mode=0o600)
