"""The scheduler bench plays a load to its end and tells plainly what it can't generate."""

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from ops.cli.main import app
from ops.sandbox.bench.load import LoadUnreadable, arrivals_of, read_load
from ops.sandbox.bench.scheduler import SchedulerFigures, SchedulerRun

LOAD = """
cohorts:
- className: cohort
  count: 2
  queuesSets:
  - className: cq
    count: 3
    nominalQuota: 4
    borrowingLimit: 10
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
    workloadsSets:
    - count: 12
      creationIntervalMs: 5
      workloads:
      - {className: small, runtimeMs: 40, priority: 50, request: 1}
    - count: 3
      creationIntervalMs: 30
      workloads:
      - {className: large, runtimeMs: 60, priority: 200, request: 4}
"""


@pytest.fixture
def load(tmp_path: Path) -> Path:
    path = tmp_path / "load.yaml"
    path.write_text(LOAD)
    return path


@pytest.mark.parametrize("at_once", [False, True])
def test_every_workload_of_a_load_finishes_once_and_gives_its_quota_back(load: Path, at_once: bool) -> None:
    run = SchedulerRun(read_load(load), at_once=at_once)
    figures = run.run()
    assert figures.finished == figures.workloads == 90
    assert figures.admissions == figures.finished + figures.evictions
    assert 0 < figures.useful_use <= figures.average_use <= 1
    assert figures.virtual_s >= figures.least_s
    assert all(not any(node.usage) for node in run.world.quota.queues.values())


def test_a_seed_decides_the_order_of_what_arrives_in_one_moment(load: Path) -> None:
    parsed = read_load(load)
    orders = [[one.fact.workload for one in arrivals_of(parsed, seed, at_once=True)] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_the_command_prints_plain_names_as_json(load: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "scheduler", str(load), "-o", "json"])
    assert done.exit_code == 0
    assert msgspec.json.decode(done.stdout, type=SchedulerFigures).admissions_per_s > 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("topology: {}\ncohorts: []", "unknown field `topology`"),
        ("cohorts: [{className: a, count: x, queuesSets: []}]", r"\$\.cohorts\[0\]\.count"),
        ("a: [", "broken YAML"),
    ],
)
def test_a_load_that_cannot_be_generated_is_refused_with_the_field(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "load.yaml"
    path.write_text(text)
    with pytest.raises(LoadUnreadable, match=problem):
        read_load(path)
