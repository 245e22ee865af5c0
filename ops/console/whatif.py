"""What-ifs that people run in the console: each in a process of its own, with its progress, its outcome, and an end at any time."""

import asyncio
import os
import secrets
import signal
import sys
from contextlib import suppress
from enum import StrEnum

import msgspec
import structlog

from events.json_object import JsonObject
from ops.console.whatif_words import AT_ONCE, AskedWhatIf, Errand, NotRunHere, Told, TooManyRuns
from ops.queries.point import NotOnTheLog

log = structlog.get_logger()

KEPT = 50
"""So many are remembered; of those that are over the oldest is forgotten first."""
LASTS_S = 3600.0
"""After this time one is given up."""
_MOST_SAID = 64 << 20
_WORKER = "ops.console.whatif_worker"
_NO_OUTCOME = "it ended without an outcome; what the console has logged says why"


class RunState(StrEnum):
    """How a what-if stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class _Run(msgspec.Struct, kw_only=True):
    owner: str
    asked: AskedWhatIf
    state: RunState = RunState.RUNNING
    told: Told = Told()
    task: "asyncio.Task[None] | None" = None


class WhatIfs:
    """Those of one console. Each is known to who has begun it, and to nobody else."""

    def __init__(self, nats: str, archive: str = "") -> None:
        self._nats, self._archive = nats, archive
        self._runs: dict[str, _Run] = {}

    def begin(self, asked: AskedWhatIf, owner: str) -> str:
        """Begin one; its name. Raises `TooManyRuns`, `NotRunHere`."""
        if not self._nats:
            raise NotRunHere
        players = [one.owner for one in self._runs.values() if one.state is RunState.RUNNING]
        yours = bool(owner) and owner in players
        if yours or len(players) >= AT_ONCE:
            raise TooManyRuns(yours=yours)
        over = [name for name, one in self._runs.items() if one.state is not RunState.RUNNING]
        for name in over[: max(len(self._runs) + 1 - KEPT, 0)]:
            del self._runs[name]
        name = secrets.token_urlsafe(12)
        run = self._runs[name] = _Run(owner=owner, asked=asked)
        run.task = asyncio.create_task(self._play(run))
        return name

    def state(self, name: str, owner: str) -> JsonObject:
        """How one stands: its progress, its outcome, or why it has none. Raises `NotOnTheLog`."""
        run = self._find(name, owner)
        return {
            "state": run.state.value,
            "asked": msgspec.to_builtins(run.asked),
            "progress": run.told.progress,
            "result": run.told.result,
            "problem": run.told.problem,
        }

    async def cancel(self, name: str, owner: str) -> None:
        """End one, with all that it has started; one that is over stays so. Raises `NotOnTheLog`."""
        run = self._find(name, owner)
        if run.task is not None and not run.task.done():
            run.task.cancel()
            await asyncio.wait({run.task})

    async def close(self) -> None:
        """End all of them."""
        tasks = {one.task for one in self._runs.values() if one.task is not None and not one.task.done()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _find(self, name: str, owner: str) -> _Run:
        run = self._runs.get(name)
        if run is None or run.owner != owner:
            raise NotOnTheLog("there is no such what-if any more: run it again")
        return run

    async def _play(self, run: _Run) -> None:
        try:
            async with asyncio.timeout(LASTS_S):
                await self._played(run)
        except asyncio.CancelledError:
            run.state, run.told = RunState.CANCELLED, Told()
            raise
        except TimeoutError:
            run.told = Told(problem=f"it was given up after {LASTS_S / 60:.0f} minutes: fork later, or change less")
        except Exception:
            # Whatever it is: one that is taken for running for ever leaves no room for another.
            log.exception("what-if failed")
            run.told = Told(problem=_NO_OUTCOME)
        run.state = RunState.DONE if run.told.result is not None else RunState.FAILED

    async def _played(self, run: _Run) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", _WORKER),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_MOST_SAID,
            start_new_session=True,
        )
        try:
            errand = Errand(nats=self._nats, archive=self._archive, asked=run.asked)
            await self._follow(run, process, msgspec.json.encode(errand))
        finally:
            # It plays in processes of its own: they are of one group, and end with it.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    async def _follow(self, run: _Run, process: asyncio.subprocess.Process, errand: bytes) -> None:
        assert process.stdin is not None and process.stdout is not None
        with suppress(ConnectionError):
            process.stdin.write(errand)
            await process.stdin.drain()
            process.stdin.close()
        async for line in process.stdout:
            run.told = msgspec.json.decode(line, type=Told)
        if run.told.result is None and not run.told.problem:
            log.warning("what-if ended without an outcome", code=await process.wait())
            run.told = Told(problem=_NO_OUTCOME)
