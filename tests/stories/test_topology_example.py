"""The example of racks with cards: a host dies under a job, which gets another one of its rack with cards there and is not evicted."""

from pathlib import Path

from events.admission import TopologyAssigned
from events.workload import EvictionOrdered
from ops.cli.log_options import LogSource
from ops.cli.log_reading import read_log
from ops.queries.stored import in_order
from tests.ops.cli.test_command_line import kuelog


def test_the_example_of_racks_plays_as_it_says(tmp_path: Path) -> None:
    done = kuelog("demo", "examples/topology", "--data", str(tmp_path / "run"), timeout=240)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    events = [one.event for one in in_order(read_log(LogSource(data=tmp_path / "run")))]
    (moved,) = [one for one in events if isinstance(one, TopologyAssigned)]
    assert len(moved.placements) == 4 and {one.node[0] for one in moved.placements} == {"a"}
    assert "a-1" not in {one.node for one in moved.placements}
    assert not [one for one in events if isinstance(one, EvictionOrdered)]
    shown = done.stdout.partition("Cards over time")[2]
    (whole,) = [line.split()[0] for line in shown.splitlines() if line.endswith(" a-2-0, a-2-1")]
    held = whole.rstrip(".")
    assert set(held[:-1]) == {"0"} and len(held) > len(whole) // 2, (
        "its pods there hold their cards until they are done"
    )
