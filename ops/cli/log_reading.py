"""The log that a command reads: from a folder, a running bus, an archive, or an archive and the bus behind it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvloop

from ops.cli.log_options import LogSource, worker_sources
from ops.files.run_folder import NATS, FolderHeld, Hold, HoldsNoLog, take
from ops.production.archive.errors import ArchiveNeverGrows
from ops.production.archive.history import History, Paged, begins_at_one, end_of, read_everything
from ops.production.archive.paged_history import Waits, open_everything
from ops.production.log.jetstream.bus import connect
from ops.production.log.server.server import NatsServer, running_server
from ops.production.log.streams import streams_on
from ops.terminal.console import sayer, terminal
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Bus


def read_log(source: LogSource) -> History:
    """Every stream of the log. Raises the known failures."""

    async def read() -> History:
        if source.archive_alone:
            return await read_everything(archive=source.archive)
        async with bus_of(source) as bus:
            return await read_everything(bus, await archive_of(source, bus))

    return asyncio.run(read())


@contextmanager
def opened_log(source: LogSource) -> Generator[Paged, None, None]:
    """Every stream of the log, read a page at a time for as long as it is looked at. Raises the known failures, also then."""
    if source.archive_alone:
        yield open_everything(Waits(asyncio.run), archive=source.archive)
        return
    with opened_bus(source) as (bus, wait):
        yield open_everything(wait, bus, wait(archive_of(source, bus)))


@contextmanager
def opened_workers(named: Sequence[str]) -> Generator[dict[str, Paged], None, None]:
    """By the name of each worker cluster its log, as `opened_log` opens one. Raises the known failures."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(opened_log(source)) for name, source in worker_sources(named).items()}


@contextmanager
def opened_bus(source: LogSource) -> Generator[tuple[Bus, Waits], None, None]:
    """The bus of a log for as long as it is asked, and how to wait for it. Raises the known failures, also then."""
    with ExitStack() as stack:
        holder = _Holder(source, stack.enter_context(_loop_aside()))
        stack.callback(holder.let_go)
        yield holder.bus(), Waits(holder.wait)


@contextmanager
def _loop_aside() -> Generator[asyncio.AbstractEventLoop, None, None]:
    """An event loop in a thread of its own: the bus lives there while what was read is worked on here."""
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class _Holder:
    """Keeps a bus open on another thread's loop, and waits there for what is asked of it; no longer than it lasts."""

    def __init__(self, source: LogSource, loop: asyncio.AbstractEventLoop) -> None:
        self._source, self._loop = source, loop
        self._opened: Future[Bus] = Future()
        self._done = asyncio.Event()
        self._held = asyncio.run_coroutine_threadsafe(self._hold(), loop)

    def bus(self) -> Bus:
        """The bus, once it is open."""
        either: list[Future[Any]] = [self._opened, self._held]
        wait(either, return_when=FIRST_COMPLETED)
        if not self._opened.done():
            self._held.result()
        return self._opened.result()

    def wait(self, what: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine that is run on that loop."""
        asked = asyncio.run_coroutine_threadsafe(what, self._loop)
        either: list[Future[Any]] = [asked, self._held]
        wait(either, return_when=FIRST_COMPLETED)
        if not asked.done():
            asked.cancel()
            self._held.result()
        return asked.result()

    def let_go(self) -> None:
        """Close the bus."""
        self._loop.call_soon_threadsafe(self._done.set)
        wait((self._held,))

    async def _hold(self) -> None:
        async with bus_of(self._source) as bus:
            self._opened.set_result(bus)
            await self._done.wait()


async def archive_of(source: LogSource, bus: Bus) -> str:
    """The archive that was named, or the one in the folder where the beginning of a stream was rolled away; else none."""
    if source.archive or source.folder is None:
        return source.archive
    beside = source.folder.resolve() / "archive"
    if not (beside / "archive.json").exists():
        return ""
    for name in (await streams_on(bus)).every:
        stream = await bus.stream(name)
        if await end_of(stream) and not await begins_at_one(stream):
            return str(beside)
    return ""


def tell_waiting(address: str) -> None:
    """Say on standard error that a bus is waited for."""
    sayer(terminal(stderr=True))(f"waiting for {address}")


@asynccontextmanager
async def bus_of(source: LogSource) -> AsyncGenerator[Bus, None]:
    """A running bus, or the one in a folder: joined where it runs, else started for as long as it is used.

    Raises the known failures.
    """
    async with AsyncExitStack() as stack:
        if source.nats:
            bus = await connect(source.nats, waiting=tell_waiting)
            stack.push_async_callback(bus.close)
            yield bus
            return
        folder = source.folder
        if folder is None:
            raise ArchiveNeverGrows(source.archive)
        if not (folder / NATS).is_dir():
            raise HoldsNoLog(folder)
        url = await _bus_in(folder.resolve(), stack)
        bus = await connect(url)
        stack.push_async_callback(bus.close)
        async with _while_it_runs(folder.resolve(), url):
            yield bus


async def _bus_in(folder: Path, stack: AsyncExitStack) -> str:
    """Where the bus of a folder takes connections. Two readers of a folder that does not run come one after the other."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _PATIENCE_S
    while True:
        taken = take(folder, serving=False)
        if isinstance(taken, Hold):
            stack.callback(taken.release)
            server = NatsServer(folder / NATS)
            stack.push_async_callback(server.stop)
            await server.start()
            return server.url
        if taken.serving and (url := running_server(folder / NATS)):
            return url
        if loop.time() > end:
            raise FolderHeld(folder, taken)
        await asyncio.sleep(_POLL_S)


@asynccontextmanager
async def _while_it_runs(folder: Path, url: str) -> AsyncGenerator[None, None]:
    """Raises `LogUnavailable` when the bus of a folder ends while it is read: the reader would wait for ever."""
    limit = asyncio.timeout(None)
    watch = asyncio.create_task(_expire_without(limit, folder, url))
    try:
        async with limit:
            yield
    except TimeoutError as problem:
        if not limit.expired():
            raise
        raise LogUnavailable(stream=str(folder), problem="the run that served it has ended; ask again") from problem
    finally:
        watch.cancel()


async def _expire_without(limit: asyncio.Timeout, folder: Path, url: str) -> None:
    while running_server(folder / NATS) == url:  # noqa: ASYNC110 - another process announces its end to nobody
        await asyncio.sleep(_WATCH_S)
    limit.reschedule(asyncio.get_running_loop().time())


_POLL_S, _PATIENCE_S = 0.1, 60.0
_WATCH_S = 1.0
