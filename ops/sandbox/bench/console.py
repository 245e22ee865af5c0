"""What the console costs under load: its answers while many are open and things happen, and its pages in a real browser."""

import asyncio
import re
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import aiohttp
import msgspec
import psutil

from events.codec import encode
from events.commit import Sighting
from events.subjects import FACTS, fact_subject
from ops.production.log.jetstream.bus import JetStreamBus
from ops.sandbox.bench.console_load import arrival
from ops.sandbox.bench.day import BEGINS
from ops.sandbox.bench.percentiles import p99
from ops.sandbox.bench.problems import NotMeasured
from ops.sandbox.bench.webdriver import Browser, NoBrowser, browser
from services.runtime.log_port import Entry, Message

_STARTS_S = 600.0
_EVERY_S = 0.1
"""So often something arrives while it is measured."""
_TURNS = 7
"""So often each thing is done in the browser; the median counts."""
_PAUSE_S, _RESTS = 0.25, 3
"""A page asks again at most four times a second and a quarter of the time."""
_ADDRESS = re.compile(rb"console on (http://\S+?)/ ")
_WANTED = ("", "sort=-priority", "sort=-since&state=pending", "text=job-01", "queue=queue-3&sort=state")
"""What the open pages of the list show."""


class ConsoleCosts(msgspec.Struct, kw_only=True):
    """What was measured. Times in milliseconds, memory in MiB."""

    ready_s: float = 0
    """From its start until the log was folded."""
    memory_mib: float = 0
    answers: int = 0
    answers_per_s: float = 0
    list_p50_ms: float = 0
    list_p99_ms: float = 0
    append_alone_p50_ms: float = 0
    append_alone_p99_ms: float = 0
    """How long who writes the log waits for each message while nobody looks."""
    append_p50_ms: float = 0
    append_p99_ms: float = 0
    """And while all consoles are open."""
    browser: "BrowserCosts | None" = None
    """None where there is no browser to measure in."""


class BrowserCosts(msgspec.Struct, frozen=True, kw_only=True):
    """The list of workloads in a browser, beside all other consoles. Times in milliseconds until the rows stand there."""

    first_paint_ms: float
    rows_ms: float
    """From the click on the address until rows are there."""
    sort_ms: float
    filter_ms: float
    """After the quarter of a second that it waits for more to be typed."""
    scroll_ms: float
    """To rows that it has not asked for before."""
    memory_mib: float


async def store(bus: JetStreamBus, log: Mapping[str, Sequence[Entry]]) -> None:
    """Put a written log on a bus."""
    for name, entries in log.items():
        stream = await bus.stream(name)
        if name == FACTS:
            await stream.publish([Message(one.subject, one.data, one.message_id) for one in entries])
            continue
        for one in entries:
            await stream.append(one.subject, one.data, message_id=one.message_id, base=one.sequence - 1)


async def measure(bus: JetStreamBus, folder: Path, *, workloads: int, consoles: int, seconds: float) -> ConsoleCosts:
    """Serve the console of that log in a process of its own, and measure. Raises `NotMeasured`."""
    costs = ConsoleCosts()
    arrivals = _Arrivals(bus, workloads)
    await arrivals.run(seconds / 2)
    costs.append_alone_p50_ms, costs.append_alone_p99_ms = _spread(arrivals.took)
    begun = time.perf_counter()
    async with _served(bus.address) as (address, process), aiohttp.ClientSession(connector=_many(consoles)) as session:
        await _folded(session, address)
        costs.ready_s = time.perf_counter() - begun
        open_pages = _OpenPages(session, address)
        pages = [asyncio.create_task(open_pages.run(_WANTED[place % len(_WANTED)])) for place in range(consoles)]
        try:
            arrivals.took.clear()
            begun = time.perf_counter()
            await arrivals.run(seconds)
            took, costs.answers = time.perf_counter() - begun, len(open_pages.took)
            costs.answers_per_s = costs.answers / took
            costs.list_p50_ms, costs.list_p99_ms = _spread(open_pages.took)
            costs.append_p50_ms, costs.append_p99_ms = _spread(arrivals.took)
            try:
                async with browser(folder / "browser") as window:
                    costs.browser = await _in_browser(window, address)
            except NoBrowser:
                costs.browser = None
            costs.memory_mib = psutil.Process(process.pid).memory_info().rss / (1 << 20)
        finally:
            for one in pages:
                one.cancel()
            await asyncio.gather(*pages, return_exceptions=True)
    return costs


class _Arrivals:
    """Jobs that come one by one."""

    def __init__(self, bus: JetStreamBus, first: int) -> None:
        self._bus, self._next = bus, first
        self.took: list[float] = []

    async def run(self, seconds: float) -> None:
        """Let them come for so long."""
        stream = await self._bus.stream(FACTS)
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            at = BEGINS + self._next
            fact = arrival(self._next, at)
            name = f"{self._next}:bench"
            data = encode(Sighting(id=name, at=at, author="watcher", fact=fact))
            begun = time.perf_counter()
            await stream.publish([Message(fact_subject("", type(fact).__name__), data, name)])
            self.took.append((time.perf_counter() - begun) * 1000)
            self._next += 1
            await asyncio.sleep(_EVERY_S)


class _OpenPages:
    """What open pages of the list ask as things happen, at the pace of the pages."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session, self._address = session, address
        self.took: list[float] = []

    async def run(self, wanted: str) -> None:
        """Hear what happens, and ask anew each time, until cancelled."""
        happened = asyncio.Event()
        hearing = asyncio.create_task(self._hear(happened))
        try:
            while True:
                begun = time.perf_counter()
                async with self._session.get(f"{self._address}/api/v1/workloads?limit=100&{wanted}") as answer:
                    await answer.read()
                took = time.perf_counter() - begun
                self.took.append(took * 1000)
                await asyncio.sleep(max(_PAUSE_S, _RESTS * took))
                await happened.wait()
                happened.clear()
        finally:
            hearing.cancel()

    async def _hear(self, happened: asyncio.Event) -> None:
        async with self._session.get(f"{self._address}/api/v1/changes", timeout=_FOR_EVER) as stream:
            async for line in stream.content:
                if line.startswith(b"event: "):
                    happened.set()


_FOR_EVER = aiohttp.ClientTimeout(total=None, sock_read=None)


def _many(consoles: int) -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(limit=3 * consoles + 10)


@asynccontextmanager
async def _served(nats: str) -> AsyncGenerator[tuple[str, asyncio.subprocess.Process], None]:
    words = ("-c", "from ops.cli.main import app; app()", "console", "--nats", nats, "--port", "0")
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=PIPE, stderr=DEVNULL)
    assert process.stdout is not None, "its output was asked for"
    try:
        said = b""
        async for line in process.stdout:
            said += line
            found = _ADDRESS.search(said)
            if found is not None:
                yield found.group(1).decode(), process
                return
        raise NotMeasured("kuelog console", await process.wait(), said.decode())
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _folded(session: aiohttp.ClientSession, address: str) -> None:
    async with asyncio.timeout(_STARTS_S):
        while True:
            async with session.get(f"{address}/readyz") as answer:
                if answer.ok:
                    return
            await asyncio.sleep(_EVERY_S)


async def _in_browser(window: Browser, address: str) -> BrowserCosts:
    paints: list[float] = []
    rows: list[float] = []
    for turn in range(_TURNS):
        await window.open(f"{address}/?{turn}#/workloads")
        rows.append(await _timed(window, _ROWS))
        paints.append(await _timed(window, _PAINT))
    done: dict[str, list[float]] = {name: [] for name in _DONE}
    for turn in range(_TURNS):
        for name, script in _DONE.items():
            done[name].append(await _timed(window, script.replace("TURN", str(turn))))
    return BrowserCosts(
        first_paint_ms=median(paints),
        rows_ms=median(rows),
        sort_ms=median(done["sort"]),
        filter_ms=median(done["filter"]),
        scroll_ms=median(done["scroll"]),
        memory_mib=window.memory() / (1 << 20),
    )


async def _timed(window: Browser, script: str) -> float:
    found = await window.run(_UNTIL + script)
    if not isinstance(found, int | float):
        raise NotMeasured("the browser", 1, str(found))
    return float(found)


_UNTIL = """
const done = arguments[arguments.length - 1];
const until = (holds, begun) => { const look = () => holds() ? requestAnimationFrame(() => done(performance.now() - begun)) : requestAnimationFrame(look); look(); };
const rows = () => [...document.querySelectorAll('.virtual [data-row]')];
"""
_ROWS = "until(() => rows().length > 5, 0);"
_PAINT = "done(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1);"
_DONE = {
    # Each turn another column, so that its order is not the one that stands there.
    "sort": """
const link = document.querySelectorAll('.row.head a')[[3, 5, 1, 2, 3, 5, 1][TURN]];
const name = link.textContent.replace(/ .$/, '');
const begun = performance.now();
link.click();
until(() => rows().length > 5 && [...document.querySelectorAll('.row.head [aria-sort$=ending]')].some(one => one.textContent.startsWith(name)), begun);""",
    "filter": """
const input = document.getElementById('search');
const wanted = 'job-000TURN';
input.value = wanted;
input.dispatchEvent(new Event('input'));
const begun = performance.now() + 250;
until(() => rows().length > 5 && rows().every(row => row.textContent.includes(wanted)), begun);""",
    "scroll": """
if (document.getElementById('search').value) location.hash = '#/workloads';
const view = () => document.querySelector('.view');
const wide = () => view() && view().scrollHeight > 28 * 20000 || document.getElementById('search')?.value === '';
const start = () => {
  if (!wide() || rows().length < 5) { requestAnimationFrame(start); return; }
  const place = Math.floor(view().scrollHeight / 28 * (TURN + 1) / 9);
  const begun = performance.now();
  view().scrollTop = place * 28;
  until(() => document.querySelector(`[aria-rowindex="${place + 5}"] [data-row]`), begun);
};
start();""",
}


def _spread(found: Sequence[float]) -> tuple[float, float]:
    """The median, and what 99 of 100 stay below."""
    return (median(found), p99(found)) if found else (0.0, 0.0)
