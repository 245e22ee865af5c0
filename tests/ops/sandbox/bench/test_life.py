"""`kuelog bench life` as a user calls it, on a real bus."""

import asyncio
import json
import signal
import sys
from functools import partial
from pathlib import Path

from tests.places import ROOT


async def started(*words: str, folder: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ops.cli.main", "bench", "life", *words),
        cwd=ROOT,
        env={"PATH": "", "TMPDIR": str(folder)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # Whoever starts these tests in the background has them ignore it.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )


async def test_a_log_that_is_rolled_several_times_is_written_started_on_and_read_over_all_of_it(tmp_path: Path) -> None:
    process = await started("--workloads", "500", "--roll-size", "60000", "-o", "json", folder=tmp_path)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    found = json.loads(out)
    assert found["written"]["rolls"]["FACTS"] >= 3 and found["written"]["rolls"]["LOG_0"] >= 1
    assert [one["service"] for one in found["costs"]["starts"]] == ["admitter", "accountant", "watcher"]
    assert {one["what"]: one["code"] for one in found["costs"]["asked"]} == {
        "replay": 0,
        "replay --verify": 0,
        "bill": 0,
        "history of a queue": 0,
        "audit verify": 0,
    }
    assert not list(tmp_path.iterdir()), "nothing is left behind"


async def test_ctrl_c_ends_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    process = await started("--workloads", "100000", folder=tmp_path)
    while not list(tmp_path.glob("*/nats/jetstream/**/*.blk")):  # noqa: ASYNC110 - another process tells nothing
        await asyncio.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert not list(tmp_path.iterdir())
