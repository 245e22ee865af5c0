"""The bench of waiting workloads lets them wait as production does, and says what each takes."""

import msgspec
from typer.testing import CliRunner

from ops.cli.main import app
from ops.sandbox.bench.waiting import WaitingFigures, WaitingLoad, WaitingRun


def test_jobs_run_as_far_as_the_quota_goes_and_all_others_wait_in_line() -> None:
    load = WaitingLoad(workloads=300, queues=6, more=5)
    run = WaitingRun(load)
    figures = run.run()
    waiting = [one for one in run.partitions.world.workloads.values() if not one.reserved]
    assert 305 - load.queues <= figures.waiting == len(waiting) < 305
    assert all(one.line for one in waiting)
    assert figures.held_mib >= figures.empty_mib > 0 and figures.decision_max_ms > 0


def test_a_partition_alone_decides_the_same() -> None:
    both, alone = (
        WaitingRun(WaitingLoad(workloads=60, queues=3)),
        WaitingRun(WaitingLoad(workloads=60, queues=3, alone=True)),
    )
    assert both.run().decisions == alone.run().decisions


def test_the_command_prints_plain_names_as_json_and_a_table() -> None:
    words = ["bench", "waiting", "--workloads", "40", "--queues", "2", "--more", "3"]
    done = CliRunner().invoke(app, [*words, "-o", "json"])
    assert done.exit_code == 0
    assert msgspec.json.decode(done.stdout, type=WaitingFigures).waiting == 41
    shown = CliRunner().invoke(app, [*words, "--alone"])
    assert shown.exit_code == 0 and "the partition of admission" in shown.stdout
