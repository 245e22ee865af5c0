"""Real commands on one folder: one holds it, readers join its bus, and nothing is removed that no demo has made."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from ops.cli.log_options import LogSource
from ops.cli.log_reading import bus_of
from ops.files.run_folder import DEMO, FolderHolder, Hold, NotADemosFolder, check_demo, clear_for_demo, take
from ops.production.log.server.server import NatsServer, running_server
from services.runtime.log_errors import LogUnavailable
from tests.places import ROOT

COMMAND = (sys.executable, "-m", "ops.cli.main")


async def kuelog(*words: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *COMMAND,
        *words,
        cwd=ROOT,
        stdout=PIPE,
        stderr=STDOUT,
        # Ctrl-C has to reach it, even where whoever runs the tests ignores it.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )


async def done(*words: str) -> tuple[int, str]:
    process = await kuelog(*words)
    told = (await process.communicate())[0].decode()
    assert process.returncode is not None
    return process.returncode, " ".join(told.split())


async def line_with(process: Process, text: str) -> str:
    assert process.stdout is not None
    told = ""
    while text not in told:
        line = (await process.stdout.readline()).decode()
        assert line, f"it ended: {told}"
        told += line
    return told


@asynccontextmanager
async def up(folder: Path) -> AsyncIterator[Process]:
    """`kuelog up` on a folder."""
    process = await kuelog("up", "--data", str(folder))
    try:
        await line_with(process, "Ctrl-C stops")
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.communicate()


def servers_on(folder: Path) -> list[psutil.Process]:
    return [
        one
        for one in psutil.process_iter(["status", "cmdline"])  # Who ends meanwhile is left out.
        if one.info["status"] != psutil.STATUS_ZOMBIE
        and str(folder / "nats" / "nats.conf") in (one.info["cmdline"] or ())
    ]


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_of_two_runs_on_a_folder_the_second_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    async with up(tmp_path) as first:
        (server,) = servers_on(tmp_path)
        code, told = await done("up", "--data", str(tmp_path))
        assert code == 2
        assert f"is in use by process {first.pid} (" in told and f"up --data {tmp_path}" in told
        code, told = await done("demo", "--data", str(tmp_path))
        assert code == 2 and "no demo has made" in told
        assert servers_on(tmp_path) == [server]


async def test_readers_of_a_running_folder_join_its_bus(tmp_path: Path) -> None:
    async with up(tmp_path):
        (server,) = servers_on(tmp_path)
        code, told = await done("replay", "--data", str(tmp_path), "--verify")
        assert code == 0, told
        assert servers_on(tmp_path) == [server]
        async with bus_of(LogSource(data=tmp_path)) as bus:
            assert (await (await bus.stream("FACTS")).last()).sequence
            assert servers_on(tmp_path) == [server]


async def test_after_a_killed_run_the_next_one_has_the_only_server(tmp_path: Path) -> None:
    async with up(tmp_path) as first:
        (left,) = servers_on(tmp_path)
        left.suspend()
        first.kill()
        await first.wait()
        async with up(tmp_path):
            (server,) = servers_on(tmp_path)
            assert server.pid != left.pid


async def test_a_reader_whose_run_ends_is_told_so_and_does_not_wait_for_ever(tmp_path: Path) -> None:
    async with up(tmp_path) as run:
        with pytest.raises(LogUnavailable, match="the run that served it has ended"):
            async with bus_of(LogSource(data=tmp_path)):
                run.send_signal(signal.SIGTERM)
                await asyncio.Event().wait()


async def test_two_readers_of_a_folder_that_does_not_run_come_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "nats").mkdir()

    async def read() -> None:
        async with bus_of(LogSource(data=tmp_path)) as bus:
            assert len(servers_on(tmp_path)) == 1
            assert (await (await bus.stream("FACTS")).last()).sequence == 0

    await asyncio.gather(read(), read())
    assert not servers_on(tmp_path)


@pytest.mark.parametrize(("command", "stop"), [("demo", signal.SIGINT), ("up", signal.SIGTERM)])
async def test_a_run_that_is_stopped_as_it_starts_leaves_no_server(
    command: str, stop: signal.Signals, tmp_path: Path
) -> None:
    process = await kuelog(command, "--data", str(tmp_path))
    while not running_server(tmp_path / "nats"):
        assert process.returncode is None
        await asyncio.sleep(0.01)
    (server,) = servers_on(tmp_path)
    process.send_signal(stop)
    await process.communicate()
    await asyncio.to_thread(server.wait, 30)
    assert isinstance(hold := take(tmp_path, serving=False), Hold)
    hold.release()


async def test_a_reader_that_is_interrupted_ends_the_bus_that_it_has_started(tmp_path: Path) -> None:
    store = tmp_path / "nats"
    server = NatsServer(store)
    await server.start()
    await server.stop()
    process = await kuelog("log", "show", "--data", str(tmp_path), "--follow")
    while not running_server(store):
        assert process.returncode is None, (await process.communicate())[0].decode()
        await asyncio.sleep(0.01)
    (started,) = servers_on(tmp_path)
    process.send_signal(signal.SIGINT)
    told = (await process.communicate())[0].decode()
    assert process.returncode == 130 and "Traceback" not in told, told
    assert not started.is_running()


def test_a_demo_begins_only_where_nothing_is_or_where_an_earlier_one_was(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "nats").mkdir(parents=True)
    (mine / "nats" / "precious").write_text("a log")
    before = files_in(mine)
    with pytest.raises(NotADemosFolder, match="holds something that no demo has made"):
        check_demo(mine)
    with pytest.raises(NotADemosFolder):
        clear_for_demo(mine)
    assert files_in(mine) == before
    demo = tmp_path / "demo"
    demo.mkdir()
    clear_for_demo(demo)
    (demo / "nats").mkdir()
    (demo / "kubeconfig").write_text("x")
    (demo / "notes").write_text("mine")
    clear_for_demo(demo)
    assert set(files_in(demo)) == {DEMO, "notes"}


async def test_the_demo_leaves_a_foreign_folder_as_it_is(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    code, told = await done("demo", "--data", str(foreign))
    assert code == 2 and re.search(r"error: \S+ holds something that no demo has made", told)
    assert files_in(foreign) == {"thesis.tex": b"years of work"}


async def test_what_runs_on_in_a_demos_folder_is_no_demos_any_more(tmp_path: Path) -> None:
    clear_for_demo(tmp_path)
    async with up(tmp_path):
        pass
    code, told = await done("demo", "--data", str(tmp_path))
    assert code == 2 and "no demo has made" in told


def test_the_lock_is_named_by_its_holder_and_ends_with_it(tmp_path: Path) -> None:
    hold = take(tmp_path, serving=True)
    assert isinstance(hold, Hold)
    other = take(tmp_path, serving=True)
    assert isinstance(other, FolderHolder) and other.pid == os.getpid() and other.serving and other.command
    hold.release()
    again = take(tmp_path, serving=False)
    assert isinstance(again, Hold)
    again.release()


async def test_a_folder_that_can_not_be_made_is_one_clear_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    code, told = await done("up", "--data", str(tmp_path / "file"))
    assert code == 2 and "file can't be used" in told and "Traceback" not in told
