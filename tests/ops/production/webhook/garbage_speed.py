"""How soon the API server is answered while somebody sends garbage: `python -m tests.ops.production.webhook.garbage_speed`.

Webhooks, garbage and questions are three processes.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import ssl
import time
from collections import Counter
from multiprocessing.connection import Connection
from typing import Any

import aiohttp
import psutil

from events.settings import SettingsObserved
from ops.production.kubernetes.reflector import Reflector
from ops.production.listeners.certificate import Certificate
from ops.production.process.event_loop import run
from ops.production.process.telemetry import configure_logging
from ops.production.webhook.certificates import renewed
from ops.production.webhook.default_local_queues import DefaultLocalQueues
from ops.production.webhook.server import served_webhooks, webhook_app
from tests.ops.production.webhook.test_hostile_input import HONEST, NO_REVIEWS, review_of
from tests.ops.production.webhook.test_https import ANYWHERE, NAMES, Now

LARGE = 100_000
SMALL = [body for body in NO_REVIEWS.values() if len(body) < LARGE] + [review_of('{"metadata":"text"}')]
DEEP = [body for body in NO_REVIEWS.values() if len(body) >= LARGE]
_CONNECTIONS = 50
_HONEST_EVERY_S = 0.05
_ANEW = 10
"""Every so many requests there is a handshake."""
_DEEP = 0.01
"""Of them as deep as they are long: up to a megabyte."""


def serve(tell: Connection, certificate: str, key: str) -> None:
    """The webhooks, with the limits that they have."""
    configure_logging("error")

    async def serving() -> None:
        shown = Certificate()
        shown.show(certificate, key)
        app = webhook_app(SettingsObserved(), DefaultLocalQueues(Reflector.__new__(Reflector)), ANYWHERE, lambda: True)
        async with served_webhooks(app, shown, 0, "127.0.0.1") as port:
            tell.send(port)
            await asyncio.Event().wait()

    run(serving())


class Garbage:
    """A crowd that sends garbage over fifty connections, each of which is made anew after ten requests at once."""

    def __init__(self, port: int, authorities: str, rate: int) -> None:
        self.answers: Counter[str] = Counter()
        self._port, self._rate = port, rate
        self._context = ssl.create_default_context(cadata=authorities)
        self._chance, self._due = random.Random(1), 0
        self._begun = time.monotonic()

    async def send(self, until: float) -> None:
        """One of them."""
        while time.monotonic() < until:
            try:
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", self._port, ssl=self._context, server_hostname=NAMES[0]
                )
                await self._turn()
                writer.write(b"".join(self._request() for _ in range(_ANEW)))
                for _ in range(_ANEW):
                    self.answers[await _status(reader)] += 1
                writer.transport.abort()
            except (OSError, EOFError, asyncio.IncompleteReadError):
                self.answers["cut"] += 1

    async def _turn(self) -> None:
        self._due += _ANEW
        await asyncio.sleep(max(0.0, self._begun + self._due / self._rate - time.monotonic()))

    def _request(self) -> bytes:
        body = self._chance.choice(DEEP if self._chance.random() < _DEEP else SMALL)
        path = self._chance.choice(("/mutate", "/validate", "/convert"))
        return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def _status(reader: asyncio.StreamReader) -> str:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
    return head.split()[1]


def send_garbage(tell: Connection, port: int, authorities: str, rate: int, seconds: float) -> None:
    """So many requests a second, if that many are answered; tells what was answered, and how long it took."""

    async def sending() -> None:
        garbage, begun = Garbage(port, authorities, rate), time.monotonic()
        await asyncio.gather(*(garbage.send(begun + seconds) for _ in range(_CONNECTIONS)))
        tell.send((garbage.answers, time.monotonic() - begun))

    asyncio.run(sending())


async def ask(port: int, authorities: str, seconds: float) -> list[float]:
    """How long each honest question took, in milliseconds: twenty a second, every tenth with a handshake of its own."""
    took: list[float] = []
    context = ssl.create_default_context(cadata=authorities)
    kept = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))
    fresh = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, force_close=True))
    async with kept, fresh:
        end = time.monotonic() + seconds
        while (begun := time.monotonic()) < end:
            session = fresh if len(took) % _ANEW == 0 else kept
            url = f"https://127.0.0.1:{port}/mutate"
            async with session.post(url, data=HONEST, server_hostname=NAMES[0]) as answer:
                assert answer.status == 200 and b'"patch"' in await answer.read()
            took.append((time.monotonic() - begun) * 1000)
            await asyncio.sleep(max(0.0, begun + _HONEST_EVERY_S - time.monotonic()))
    return sorted(took)


def told(what: str, took: list[float]) -> str:
    p50, p99 = took[len(took) // 2], took[len(took) * 99 // 100]
    return f"{what:<44} {len(took):>5} asked, p50 {p50:6.1f} ms  p99 {p99:6.1f} ms"


def main() -> None:
    """Measure without garbage and with it."""
    options = argparse.ArgumentParser()
    options.add_argument("--rate", type=int, default=1000)
    options.add_argument("--seconds", type=float, default=20)
    given = options.parse_args()
    held: Any = renewed(None, NAMES, Now().at)
    processes = multiprocessing.get_context("spawn")
    (hear, tell), (hear_sent, tell_sent) = processes.Pipe(duplex=False), processes.Pipe(duplex=False)
    server = processes.Process(target=serve, args=(tell, held.certificate, held.key), daemon=True)
    server.start()
    port = hear.recv()
    print(f"load before {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    print(told("alone", asyncio.run(ask(port, held.authorities, given.seconds / 2))))
    before = psutil.Process(server.pid).cpu_times()
    words = (tell_sent, port, held.authorities, given.rate, given.seconds)
    sender = processes.Process(target=send_garbage, args=words, daemon=True)
    sender.start()
    took = asyncio.run(ask(port, held.authorities, given.seconds))
    answers, lasted = hear_sent.recv()
    print(told(f"beside {answers.total() / lasted:,.0f} of garbage a second", took))
    after = psutil.Process(server.pid).cpu_times()
    spent = after.user + after.system - before.user - before.system
    print(f"the webhooks took {spent / lasted:.0%} of a core")
    how = ", ".join(f"{count:,} times {status}" for status, count in sorted(answers.items()))
    print(f"garbage was answered {how}; load after {os.getloadavg()[0]:.1f}")
    server.terminate()
    sender.join()


if __name__ == "__main__":
    main()
