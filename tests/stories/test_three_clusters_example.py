"""The example of three clusters: jobs are sent to where there is room, one cluster is lost and comes back, and every log bears it out."""

import json
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
    assert "One bill over all clusters" in done.stdout
    the_logs_answer_as_one(tmp_path / "run")


def the_logs_answer_as_one(run: Path) -> None:
    """What is asked of the manager's log goes on into those of its workers."""
    there = [f"--worker={name}={run / 'clusters' / name}" for name in ("east", "west")]
    lived = json.loads(kuelog("history", "lab/training", "--data", str(run), *there, "-o", "json").stdout)
    admitted = {line["partition"] for line in lived if line["what"] == "admitted"}
    assert admitted == {"LOG_0", "east/LOG_0", "west/LOG_0"}
    chosen = [line["detail"] for line in lived if line["what"] == "cluster chosen"]
    places = {f"{line['partition']}/{line['sequence']}" for line in lived if line["what"] == "admitted"}
    cited = [f"{one.partition(':')[0]}/{one.partition(', by ')[2].partition(' of')[0]}" for one in chosen]
    assert len(cited) == 2 and set(cited) <= places, "each choice cites the admission in the cluster's own log"
    told = kuelog("explain", "lab/training", "--data", str(run), "--at", "+30s", *there)
    assert "on the log of east, of which LOG_0/" in told.stdout, told.stdout + told.stderr
    mistaken = kuelog("explain", "lab/training", "--data", str(run), f"--worker=wset={run / 'clusters' / 'west'}")
    assert "there is no MultiKueueCluster wset; those that are there: east, west" in mistaken.stdout, mistaken.stderr
    held = kuelog("audit", "verify", "--data", str(run), *there)
    assert held.returncode == 0 and "of east cited, all there" in held.stdout, held.stdout + held.stderr
    crossed = kuelog("audit", "verify", "--data", str(run), f"--worker=east={run / 'clusters' / 'west'}")
    assert crossed.returncode == 1 and "east/LOG_0" in crossed.stdout, "the log of another cluster is not taken for it"
    crossed = kuelog("history", "lab/training", "--data", str(run), f"--worker=east={run / 'clusters' / 'west'}")
    assert "cites what is not there" in crossed.stdout
    bill = json.loads(kuelog("bill", "--data", str(run), *there, "-o", "json").stdout)
    assert {line["cluster"] for line in bill["lines"]} == {"east", "west"}
    for name in ("east", "west"):
        alone = json.loads(kuelog("bill", "--data", str(run / "clusters" / name), "-o", "json").stdout)
        mine = [{k: v for k, v in line.items() if k != "cluster"} for line in bill["lines"] if line["cluster"] == name]
        assert mine == alone["lines"], "the bill of a cluster is that of its own log"
