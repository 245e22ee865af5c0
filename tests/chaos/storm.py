"""Proxies that stand between services and what they talk to, and do what networks and servers at their limit do, by a seed."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp import web

from ops.production.listeners.listening import close_listener, open_listener
from ops.sandbox.embedded_cluster.embedded import kubeconfig_text

_HOP = frozenset({"host", "content-length", "transfer-encoding", "connection"})
REFUSALS = {429: "TooManyRequests", 500: "InternalError", 502: "BadGateway", 503: "ServiceUnavailable"}
CONFLICT = 409


class Storm:
    """Before both."""

    def __init__(self, api: str, bus: str, folder: Path, seed: int) -> None:
        self.api = ApiStorm(api, folder / "storm.kubeconfig", seed)
        self.bus = BusStorm(bus, seed)

    def __str__(self) -> str:
        requests = ", ".join(f"{count} {what}" for what, count in sorted(self.api.befallen.items()))
        return f"of the API: {requests}; of the bus: {self.bus.cut} cut, {self.bus.silences} silent"

    async def start(self) -> None:
        await self.api.start()
        await self.bus.start()

    async def stop(self) -> None:
        await self.api.stop()
        await self.bus.stop()

    def calm(self) -> None:
        """From now on nothing befalls anybody."""
        self.api.calm()
        self.bus.calm()


class ApiStorm:
    """Before an API server. What has befallen requests is counted in `befallen`."""

    def __init__(self, target: str, kubeconfig: Path, seed: int) -> None:
        self.kubeconfig = kubeconfig
        self.befallen: dict[str, int] = {}
        self._target, self._chance = target, random.Random(f"{seed}/api")
        self._calm = False
        self._session: aiohttp.ClientSession
        self._runner: web.AppRunner
        self._listener: asyncio.Server

    async def start(self) -> None:
        """Listen, and write the kubeconfig of whoever is to go through it."""
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False)
        app = web.Application(client_max_size=16 << 20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
        await self._runner.setup()
        self._listener = await open_listener(self._runner, 0, host="127.0.0.1")
        port = self._listener.sockets[0].getsockname()[1]
        self.kubeconfig.write_text(kubeconfig_text(f"http://127.0.0.1:{port}"))

    async def stop(self) -> None:
        await self._session.close()
        await close_listener(self._runner, self._listener)

    def calm(self) -> None:
        """From now on nothing befalls anybody."""
        self._calm = True

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("watch"):
            return await self._watched(request)
        match self._fate(request.method):
            case "cut before":
                return _cut(request)
            case "cut after":
                await self._forwarded(request)
                return _cut(request)
            case "slow":
                await asyncio.sleep(self._chance.uniform(0.1, 1))
            case "conflict":
                return _refusal(CONFLICT, "Conflict")
            case "refused":
                code = self._chance.choice(tuple(REFUSALS))
                return _refusal(code, REFUSALS[code])
            case _:
                pass
        return await self._forwarded(request)

    def _fate(self, method: str) -> str:
        if self._calm or self._chance.random() > 0.25:
            return ""
        fates = ["refused", "refused", "slow", "cut before", "cut after"]
        fate = self._chance.choice([*fates, "conflict"] if method in ("PATCH", "PUT") else fates)
        self.befallen[fate] = self.befallen.get(fate, 0) + 1
        return fate

    async def _forwarded(self, request: web.Request) -> web.Response:
        body = await request.read()
        url, headers = self._target + request.path_qs, _kept(request.headers)
        async with self._session.request(request.method, url, data=body, headers=headers) as answer:
            return web.Response(body=await answer.read(), status=answer.status, headers=_kept(answer.headers))

    async def _watched(self, request: web.Request) -> web.StreamResponse:
        """A watch is cut after a while, in the middle of a line if one is on its way; or told that it has expired."""
        lasts = None if self._calm else self._chance.uniform(0.2, 6)
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        try:
            async with asyncio.timeout(lasts), self._session.get(self._target + request.path_qs) as source:
                answer.set_status(source.status)
                await answer.prepare(request)
                async for chunk in source.content.iter_any():
                    if not self._calm and self._chance.random() < 0.03:
                        await answer.write(chunk[: len(chunk) // 2])
                        self._note("cut in a line")
                        return _cut(request)
                    await answer.write(chunk)
                return answer
        except TimeoutError:
            if answer.prepared and self._chance.random() < 0.3:
                self._note("expired")
                status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
                await answer.write(msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n")
                return answer
        self._note("cut watch")
        return _cut(request)

    def _note(self, what: str) -> None:
        self.befallen[what] = self.befallen.get(what, 0) + 1


class BusStorm:
    """Before a bus: every connection falls silent at times, and is cut sooner or later, in whatever direction bytes run."""

    def __init__(self, target: str, seed: int) -> None:
        self.cut = self.silences = 0
        self._host, self._port = urlsplit(target).hostname or "", urlsplit(target).port or 0
        self._chance = random.Random(f"{seed}/bus")
        self._calm = False
        self._server: asyncio.Server
        self._carrying: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)

    async def stop(self) -> None:
        self._server.close()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def calm(self) -> None:
        """From now on nothing befalls anybody."""
        self._calm = True

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        carrying = asyncio.current_task()
        assert carrying is not None
        self._carrying.add(carrying)
        try:
            there, back = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.close()
            self._carrying.discard(carrying)
            return
        silent = asyncio.Event()
        silent.set()
        both = [asyncio.create_task(_pump(*pair, silent)) for pair in ((reader, back), (there, writer))]
        try:
            await self._befall(both, silent)
        finally:
            self._carrying.discard(carrying)
            for task in both:
                task.cancel()
            for one in (writer, back):
                one.transport.abort()

    async def _befall(self, both: list["asyncio.Task[None]"], silent: asyncio.Event) -> None:
        while True:
            done, _ = await asyncio.wait(both, timeout=self._chance.uniform(1, 8), return_when=asyncio.FIRST_COMPLETED)
            if done:
                return
            if self._calm:
                continue
            if self._chance.random() < 0.5:
                self.cut += 1
                return
            self.silences += 1
            silent.clear()
            await asyncio.sleep(self._chance.uniform(0.1, 3))
            silent.set()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, silent: asyncio.Event) -> None:
    with suppress(OSError):
        while data := await source.read(1 << 16):
            await silent.wait()
            sink.write(data)
            await sink.drain()


def _kept(headers: Any) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP}


def _refusal(code: int, reason: str) -> web.Response:
    status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "refused by the storm"}
    headers = {"Retry-After": "1"} if code in (429, 503) else {}
    return web.Response(body=msgspec.json.encode(status), status=code, content_type="application/json", headers=headers)


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=499)
