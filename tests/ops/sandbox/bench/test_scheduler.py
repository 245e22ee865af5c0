"""The scheduler bench plays a load to its end and tells plainly what it can't generate."""

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from events.topology import SliceConstraint, TopologyRequest
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
        ("racks: {}\ncohorts: []", "unknown field `racks`"),
        ("topology: {name: dc, levels: []}\ncohorts: []", r"at least 2 levels.*\$\.topology"),
        ("resourceFlavor: {name: f, topologyName: dc}\ncohorts: []", r"needs nodeLabel.*\$\.resourceFlavor"),
        (
            "cohorts: [{className: a, count: 1, queuesSets: [{className: q, count: 1, nominalQuota: 1, workloadsSets: "
            "[{count: 1, workloads: [{className: w, runtimeMs: 1, request: 1, tasConstraint: near}]}]}]}]",
            r"Invalid enum value 'near'.*tasConstraint",
        ),
        ("cohorts: [{className: a, count: x, queuesSets: []}]", r"\$\.cohorts\[0\]\.count"),
        ("a: [", "broken YAML"),
    ],
)
def test_a_load_that_cannot_be_generated_is_refused_with_the_field(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "load.yaml"
    path.write_text(text)
    with pytest.raises(LoadUnreadable, match=problem):
        read_load(path)


RACKED = """
topology:
  name: dc
  levels:
  - {name: rack, count: 2, nodeLabel: rack}
  - {name: host, count: 3, nodeLabel: kubernetes.io/hostname, capacity: {cpu: "4", memory: 1Gi}}
resourceFlavor: {name: racked, nodeLabel: tas-node-group, topologyName: dc}
cohorts:
- className: cohort
  count: 1
  queuesSets:
  - className: cq
    count: 2
    nominalQuota: 10
    borrowingLimit: 10
    workloadsSets:
    - count: 4
      creationIntervalMs: 5
      workloads:
      - {className: near, runtimeMs: 40, request: 2, podCount: 4, tasConstraint: required, tasLevel: rack}
      - {className: nearby, runtimeMs: 40, request: 1, podCount: 2, tasConstraint: preferred, tasLevel: rack}
      - {className: sliced, runtimeMs: 40, request: 1, podCount: 4, tasConstraint: balanced, tasLevel: rack, sliceSize: 2}
"""


def test_a_load_with_a_topology_is_placed_on_its_hosts_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "racked.yaml"
    path.write_text(RACKED)
    run = SchedulerRun(read_load(path))
    room = run.world.domains.room("racked")
    assert room is not None
    assert [leaf.values for leaf in room.room.tree.leaves] == [
        (f"rack-{rack}", f"node-r{rack}-h{host}") for rack in range(2) for host in range(3)
    ]
    figures = run.run()
    assert figures.finished == figures.workloads == 24
    assert run.world.domains.held() == {}


def test_what_workloads_of_a_topology_ask_for_is_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "racked.yaml"
    path.write_text(RACKED)
    asked = {
        one.kind: (one.fact.spec.pod_sets[0].count, one.fact.spec.pod_sets[0].topology, one.asked)
        for one in arrivals_of(read_load(path), 0, at_once=True)
    }
    assert asked == {
        "near": (4, TopologyRequest(required="rack"), 8000),
        "nearby": (2, TopologyRequest(preferred="rack"), 2000),
        "sliced": (4, TopologyRequest(slices=(SliceConstraint(topology="rack", size=2),)), 4000),
    }


def test_a_load_with_a_topology_is_not_played_on_a_cluster(tmp_path: Path) -> None:
    path = tmp_path / "racked.yaml"
    path.write_text(RACKED)
    done = CliRunner().invoke(app, ["bench", "cluster", str(path), "--kubeconfig", str(tmp_path / "none")])
    assert done.exit_code != 0
    assert "kuelog bench scheduler" in done.output
