"""The example of three clusters: jobs are sent to where there is room, one cluster is lost and comes back, and every log bears it out."""

from pathlib import Path

from tests.ops.cli.test_command_line import kuelog


def test_jobs_run_where_there_is_room_and_move_when_their_cluster_is_lost(tmp_path: Path) -> None:
    done = kuelog("demo", "examples/three-clusters", "--data", str(tmp_path / "run"), timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lab/training runs in east, then in west" in done.stdout
    assert "nothing is left in east" in done.stdout
    shown = kuelog("history", "lab/training", "--data", str(tmp_path / "run" / "clusters" / "west"))
    assert shown.returncode == 0 and "owned by its job" in shown.stdout, shown.stdout + shown.stderr
    here = kuelog("history", "lab/training", "--data", str(tmp_path / "run"))
    assert "cluster chosen" in here.stdout and "east" in here.stdout and "west" in here.stdout
