"""`kuelog top`: who runs and who waits where, with which cards, and when they may start; once, or as the log goes on."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
from rich.console import Console
from rich.live import Live as Screen
from rich.text import Text

from events.json_object import JsonObject
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import bus_of, opened_log
from ops.cli.questions.top_view import SORTS, Frame, TopShown, everything, screen
from ops.cli.serving.serve import stop_signal
from ops.console.live import Live
from ops.production.process.event_loop import run
from ops.production.visibility.server import follower
from ops.production.wiring import Running
from ops.queries.answers import unknown
from ops.queries.explaining import world_at
from ops.queries.point import Point, point_at
from ops.queries.standing import standings
from ops.queries.stored import in_order
from ops.queries.whatif.expected_starts import ExpectedStarts, expected_starts
from ops.queries.whatif.run_times import RunTimes, RunTimesReader
from ops.terminal.endings import STOPPED
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.keys import keys
from projections.world import World
from services.runtime.own_task import stopped

_PATIENCE_ONCE_S, _PATIENCE_S = 2.0, 0.1
"""So long it is tried to foresee starts: by who waits for the one answer, and by who looks on."""
_REST, _LONG_REST = 4, 20
"""Between two looks, and between two times that starts are foreseen, so many times as much rest as it took."""
_TICK_S = 1.0


class TopOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which workloads, in which order, as of when."""

    at: str = ""
    once: bool = False
    sort: str = "queue"
    reverse: bool = False
    cluster_queue: str = ""
    namespace: str = ""
    scale: float = 1.0


def run_top(source: LogSource, asked: TopOptions, *, output: AnswerForm, console: Console) -> int:
    """Show it; 0, or 130 when it was watched until Ctrl-C."""
    with known_failures() as outcome:
        if asked.at or asked.once or output is not AnswerForm.TEXT or not console.is_terminal:
            point, shown = _once(source, asked)
            if output is AnswerForm.TEXT:
                console.print(everything(shown, _frame(asked)))
                console.print(f"as of {point.describe()}", style="dim", highlight=False, soft_wrap=True)
            else:
                print_answer(_plain(point, shown, asked), output)
            outcome.code = 0
        else:
            outcome.code = run(_Watch(source, asked, console).run())
    return outcome.code


def _once(source: LogSource, asked: TopOptions) -> tuple[Point, TopShown]:
    with opened_log(source) as entries:
        point = point_at(entries, asked.at)
        world, times = world_at(point), RunTimes()
        for stored in in_order(point.entries):
            times.note(stored.event, stored.at)
    expected = expected_starts(world, point.at, times, patience_s=_PATIENCE_ONCE_S)
    shown = _shown(world, point.at, expected, asked)
    # Workloads may wait for a queue that is not there yet; who looks on may, too.
    if asked.cluster_queue and asked.cluster_queue not in world.cluster_queues and not shown.standings.workloads:
        raise unknown(f"clusterqueue/{asked.cluster_queue}", [f"clusterqueue/{one}" for one in world.cluster_queues])
    return point, shown


def _shown(world: World, at: int, expected: ExpectedStarts, asked: TopOptions, note: str = "") -> TopShown:
    found = standings(world, at, expected)
    if asked.cluster_queue or asked.namespace:
        found = msgspec.structs.replace(
            found,
            queues=tuple(one for one in found.queues if asked.cluster_queue in ("", one.name)),
            workloads=tuple(
                one
                for one in found.workloads
                if asked.cluster_queue in ("", one.cluster_queue)
                and (not asked.namespace or one.workload.startswith(f"{asked.namespace}/"))
            ),
        )
    return TopShown(at=at, standings=found, expected=expected, note=note)


def _plain(point: Point, shown: TopShown, asked: TopOptions) -> JsonObject:
    plain = msgspec.to_builtins(shown.standings)
    order = [one.workload for one in _frame(asked).ordered(shown)]
    rows = {one["workload"]: one for one in plain["workloads"]}
    foreseen = {"known_runs": shown.expected.known_runs, "upto": shown.expected.upto}
    return {
        "at": point.at,
        "sequences": point.upto,
        "foreseen": foreseen,
        **plain,
        "workloads": [rows[name] for name in order],
    }


def _frame(asked: TopOptions) -> Frame:
    return Frame(sort=asked.sort, reverse=asked.reverse)


class _Watch:
    """The log as it goes on, on a terminal."""

    def __init__(self, source: LogSource, asked: TopOptions, console: Console) -> None:
        self._source, self._asked, self._console = source, asked, console
        self._frame = _frame(asked)
        self._stirred, self._quit = asyncio.Event(), False
        self._expected: ExpectedStarts | None = None
        self._foresee_after = 0.0
        self._shown: TopShown | None = None

    async def run(self) -> int:
        stop = stop_signal()
        async with bus_of(self._source) as bus:
            running = follower(bus, self._asked.scale)
            async with _followed(running) as following:
                await self._watch(running, following, stop)
        return STOPPED if stop.is_set() else 0

    async def _watch(self, running: Running, following: "asyncio.Task[None]", stop: asyncio.Event) -> None:
        live, times = Live(running), RunTimesReader(running)
        stopping = asyncio.create_task(self._stir_at(stop))
        try:
            with Screen(console=self._console, screen=True, auto_refresh=False) as drawn:
                async with keys(self._press):
                    drawn.update(Text("folding the log …", style="dim"), refresh=True)
                    rest = 0.0
                    while not (self._quit or stop.is_set() or following.done()):
                        begun = time.monotonic()
                        if live.ready and begun >= rest:
                            await times.read_on(live.positions())
                            self._look(live, times.times)
                            rest = time.monotonic() + (time.monotonic() - begun) * _REST
                        if self._shown is not None:
                            drawn.update(screen(self._shown, self._frame, self._console), refresh=True)
                        await self._wait()
        finally:
            await stopped(stopping)
        if following.done():
            following.result()

    def _look(self, live: Live, times: RunTimes) -> None:
        """Take in what there is now. The starts that are expected cost more, so they are reckoned less often."""
        world, at, now = live.world(), live.at(), time.monotonic()
        if self._expected is None or now >= self._foresee_after:
            self._expected = expected_starts(world, at, times, patience_s=_PATIENCE_S)
            took = time.monotonic() - now
            self._foresee_after = now + max(_LONG_REST * took, _TICK_S)
        self._shown = _shown(world, at, self._expected, self._asked, live.halted)

    def _press(self, key: str) -> None:
        page = max(self._console.height // 2, 1)
        steps = {"up": -1, "down": 1, "page up": -page, "page down": page}
        match key:
            case "q" | "escape":
                self._quit = True
            case "s":
                names = list(SORTS)
                self._frame.sort = names[(names.index(self._frame.sort) + 1) % len(names)]
            case "r":
                self._frame.reverse = not self._frame.reverse
            case "home":
                self._frame.offset = 0
            case "end":
                self._frame.offset = 1 << 30
            case _ if key in steps:
                self._frame.offset = max(self._frame.offset + steps[key], 0)
            case _:
                return
        self._stirred.set()

    async def _stir_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._stirred.set()

    async def _wait(self) -> None:
        """Until a key is pressed; at rest the clock goes on, and so do the ages."""
        try:
            async with asyncio.timeout(_TICK_S):
                await self._stirred.wait()
        except TimeoutError:
            return
        self._stirred.clear()


@asynccontextmanager
async def _followed(running: Running) -> AsyncGenerator["asyncio.Task[None]"]:
    task = asyncio.create_task(running.run())
    try:
        yield task
    finally:
        await stopped(task)
