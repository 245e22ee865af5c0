"""The example of an elastic job with cards: it grows, shrinks and waits for more, and the pods that it keeps never stop."""

from pathlib import Path

from events.slices import WorkloadSliceReplaced, WorkloadSliceResized
from events.workload import EvictionOrdered
from ops.cli.log_options import LogSource
from ops.cli.log_reading import read_log
from ops.queries.stored import in_order
from tests.ops.cli.test_command_line import kuelog


def test_the_example_of_an_elastic_job_plays_as_it_says(tmp_path: Path) -> None:
    done = kuelog("demo", "examples/elastic", "--data", str(tmp_path / "run"), timeout=240)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    events = [one.event for one in in_order(read_log(LogSource(data=tmp_path / "run")))]
    assert not [one for one in events if isinstance(one, EvictionOrdered)]
    changes = [one for one in events if isinstance(one, WorkloadSliceReplaced | WorkloadSliceResized)]
    assert [type(one) for one in changes] == [WorkloadSliceReplaced, WorkloadSliceResized, WorkloadSliceReplaced]
    (smaller,) = [one for one in changes if isinstance(one, WorkloadSliceResized)]
    assert [one.count for one in smaller.pod_sets] == [3]
    shown = done.stdout.partition("Cards over time")[2]
    rows = [line.split()[0] for line in shown.splitlines() if "  n-1-" in line]
    kept = [row for row in rows if row.startswith("0")]
    held = [row.rstrip(".") for row in kept]
    assert held and all("." not in row for row in held), "its first pods hold their cards from beginning to end"
    assert any(len(row) < len(whole) for row, whole in zip(held, kept, strict=True)), "and not longer"
    assert any(set(row) >= {"1", "2", "3"} for row in rows), "cards go from the sweep to training and back"
