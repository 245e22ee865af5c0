"""Forks: without a change nothing changes, with one the right ones gain and lose; and nothing is invented."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from events.claims import DeviceClassMapping
from events.control import ObjectRemoved
from events.quota import ClusterQueueObserved, CohortObserved, FlavorObserved, LocalQueueObserved
from events.settings import SettingsObserved
from events.topology import TopologyObserved
from events.workload import WorkloadSubmitted
from ops.cli.questions.whatif import show_estimate
from ops.files.manifests import ManifestBroken
from ops.queries.settings_change import BadChange
from ops.queries.whatif.change import ChangedField, ForkChanges, submissions
from ops.queries.whatif.compare import compare, estimate
from ops.queries.whatif.fork import Fork, RunPlan, play_all
from ops.queries.whatif.manifest import manifest_of
from ops.queries.whatif.outcome import RunResults, percentile
from ops.sandbox.bench.day import BEGINS, large_day, played, small_day
from projections.evolve import evolve
from projections.log_position import LogPosition
from projections.world import World
from services.runtime.log_port import Entry
from services.watcher.settings.cluster_objects import SIMPLE

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: ask, namespace: day, labels: {kueue.x-k8s.io/queue-name: queue-0}}
spec:
  parallelism: 1
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: i, resources: {requests: {cpu: "1"}}}
"""


def test_a_fork_without_a_change_is_the_day_as_it_was() -> None:
    entries, recorded = played(large_day(200), cards=False)
    told = Fork(entries, "", ForkChanges()).play(RunPlan(name="a"))
    assert {key: one.finished for key, one in told.outcomes.items()} == {
        key: one.finished for key, one in recorded.found.items()
    }
    again = Fork(entries, "", ForkChanges()).play(RunPlan(name="a"))
    found = compare(told, again, Fork(entries, "", ForkChanges()).course)
    assert (found.gain, found.lose) == (0, 0)


def test_a_queue_that_is_held_loses_and_says_so() -> None:
    entries, _ = played(large_day(200), cards=False)
    fork = Fork(entries, "", ForkChanges(["clusterqueue/queue-0:spec.stopPolicy=Hold"]))
    told = play_all(fork, [RunPlan(name="a"), RunPlan(name="b", changed=True)], lambda *_: None)
    found = compare(told["a"], told["b"], fork.course)
    assert found.waiting_after > 0 == found.waiting_before
    assert {one.queue for one in found.losers} == {"queue-0"}
    assert found.gain == 0


def test_a_fork_in_the_middle_goes_on_with_what_runs() -> None:
    entries, recorded = played(large_day(200), cards=False)
    fork = Fork(entries, "+12h", ForkChanges())
    told = fork.play(RunPlan(name="a"))
    ends = {key: one.finished for key, one in told.outcomes.items() if one.finished is not None}
    assert len(ends) > 50
    assert all(recorded.found[key].finished == at for key, at in ends.items())


def test_who_asks_about_the_past_knows_nothing_of_what_came_later_unless_it_is_told() -> None:
    entries, _ = played(large_day(200), cards=False)
    later = Fork(entries, "+12h", ForkChanges())
    assert later.arrivals > 0 and not later.alone
    then = Fork(entries, "+12h", ForkChanges(), hindsight=False)
    assert (then.arrivals, then.alone) == (0, True)
    assert len(then.course.runs) < len(later.course.runs)
    assert then.course.ended <= then.point.at < later.course.ended
    assert all(one.at <= then.point.at for one in then.course.happenings)


def test_the_levels_of_a_topology_can_be_set_and_the_topology_removed() -> None:
    world, place = World(), LogPosition(partition="LOG_0", sequence=1, at=0)
    evolve(world, TopologyObserved(name="racks", uid="u", levels=("zone", "rack")), place)
    changed = ForkChanges(["topology/racks:spec.levels[1].nodeLabel=row"]).at_fork(world)
    assert changed == [TopologyObserved(name="racks", uid="u", levels=("zone", "row"))]
    assert ForkChanges(removed=["topo/racks"]).at_fork(world) == [
        ObjectRemoved(kind="Topology", namespace="", name="racks")
    ]


def cards_of(fork: Fork) -> dict[str, int]:
    return {name: len(one.cards) for name, one in fork.world.cards.nodes.items()}


def played_with(entries: dict[str, list[Entry]], at: str, changes: ForkChanges) -> tuple[Fork, RunResults]:
    fork = Fork(entries, at, changes)
    return fork, fork.play(RunPlan(name="b", changed=True))


def waited(results: RunResults) -> int:
    return sum(one.waited(results.ended) for one in results.outcomes.values())


@pytest.mark.parametrize("at", ["", "+1h"])
def test_there_are_more_nodes_with_their_cards_whether_they_come_or_are_there_already(at: str) -> None:
    # On this day cards are short, not quota.
    entries, _ = played(small_day(11))
    before, was = played_with(entries, at, ForkChanges())
    more, found = played_with(entries, at, ForkChanges(more=["node/v100-0=2"]))
    count = cards_of(before)["v100-0"]
    assert cards_of(more) == {**cards_of(before), "v100-0-more-1": count, "v100-0-more-2": count}
    uuids = [card.uuid for one in more.world.cards.nodes.values() for card in one.cards]
    assert len(set(uuids)) == len(uuids)
    assert waited(found) <= waited(was)


@pytest.mark.parametrize("at", ["", "+1h"])
def test_a_card_that_is_taken_away_is_held_by_nobody(at: str) -> None:
    entries, _ = played(small_day(11))
    before, was = played_with(entries, at, ForkChanges())
    fewer, found = played_with(entries, at, ForkChanges(removed=["card/GPU-v100-0-0", "card/GPU-v100-0-1"]))
    assert cards_of(fewer) == {**cards_of(before), "v100-0": cards_of(before)["v100-0"] - 2}
    assert waited(found) >= waited(was)


@pytest.mark.parametrize("name", ["workload/{0}", "job/{0}", "{0}"])
@pytest.mark.parametrize("at", ["", "+1h"])
def test_a_workload_of_higher_priority_is_admitted_earlier(name: str, at: str) -> None:
    entries, _ = played(small_day(12))
    _, was = played_with(entries, at, ForkChanges())
    slow = max((one for one in was.outcomes.values() if one.admitted), key=lambda one: one.waited(was.ended))
    change = f"{name.format(slow.key)}:spec.priority=100000"
    _, found = played_with(entries, at, ForkChanges([change]))
    assert found.outcomes[slow.key].waited(found.ended) < slow.waited(was.ended)


@pytest.mark.parametrize("seed", range(20))
def test_a_manifest_of_a_fact_is_read_as_the_same_fact(seed: int) -> None:
    for fact in small_day(seed).platform:
        manifest = manifest_of(fact)
        if manifest is not None:
            assert isinstance(fact, ClusterQueueObserved | CohortObserved | LocalQueueObserved | FlavorObserved)
            assert SIMPLE[manifest["kind"]](manifest) == fact


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("clusterqueue/queue-0", "is no change"),
        ("pod/x:spec.a=1", "is no change"),
        ("clusterqueue/queue-0:spec.resourceGroups[0].flavors[none].x=1", "there is no none; there are default"),
        ("clusterqueue/queue-0:spec.stopPolicy=Perhaps", "stopPolicy"),
        ("clusterqueue/queue-0:spec.nope=3", "there is no field nope; write one of admissionChecks.*stopPolicy"),
        ("clusterqueue/queue-0:spec.stopPolice=Hold", "there is no field stopPolice; write stopPolicy"),
        (
            "clusterqueue/queue-0:spec.resourceGroups[0].flavors[0].resources[0].quota=1",
            "there is no field quota; write",
        ),
        ("clusterqueue/queue-0:stopPolicy=Hold", "stopPolicy can't be set; write spec or metadata"),
        ("clusterqueue/queue-0:status.x=1", "status can't be set; write spec or metadata"),
        ("clusterqueue/nobody:spec.stopPolicy=Hold", "there is no clusterqueue nobody"),
        ("workload/day/w1:spec.priority=high", "write workload/NS/NAME:spec.priority=100"),
        ("workload/day/w1:spec.active=false", "of a workload its priority can be set"),
        ("workload/w1:spec.priority=1", "of a workload its priority can be set"),
        ("workload/day/nobody:spec.priority=1", "there is no workload day/nobody"),
    ],
)
def test_a_change_that_can_t_be_is_one_clear_message(text: str, told: str) -> None:
    entries, _ = played(large_day(20), cards=False)
    with pytest.raises(BadChange, match=told):
        Fork(entries, "", ForkChanges([text])).play(RunPlan(name="a", changed=True))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"more": ["node/v100-0"]}, "is no number of nodes"),
        ({"more": ["node/v100-0=0"]}, "is no number of nodes"),
        ({"more": ["node/v100-0=1001"]}, "1000 at most"),
        ({"more": ["clusterqueue/a=2"]}, "is no number of nodes"),
        ({"more": ["node/nowhere=1"]}, "there is no node nowhere"),
        ({"removed": ["card/GPU-none"]}, "there is no card GPU-none"),
        ({"removed": ["pod/day/x"]}, "can't be removed: write one of"),
    ],
)
def test_hardware_that_can_t_be_is_one_clear_message(changes: dict[str, list[str]], told: str) -> None:
    entries, _ = played(small_day(11))
    with pytest.raises(BadChange, match=told):
        Fork(entries, "", ForkChanges(**changes)).play(RunPlan(name="a", changed=True))


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n", "kind: List\nitems: []\n"])
def test_a_file_without_an_object_is_neither_submitted_nor_applied_in_silence(text: str, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    with pytest.raises(ManifestBroken, match="job.yaml: there is no object in it"):
        submissions([file], World(), 0)
    with pytest.raises(ManifestBroken, match="job.yaml: there is no object in it"):
        ForkChanges(files=[file])


def test_what_submits_no_job_is_one_clear_message(tmp_path: Path) -> None:
    file = tmp_path / "claims.yaml"
    file.write_text("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\nspec: {}\n")
    for files in ([], [file]):
        with pytest.raises(BadChange, match="no job is submitted: say -f job.yaml"):
            submissions(files, World(), 0)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_field_that_no_kind_has_is_not_passed_over_in_a_file(version: str, tmp_path: Path) -> None:
    file = tmp_path / "queue.yaml"
    file.write_text(
        f"apiVersion: kueue.x-k8s.io/{version}\nkind: ClusterQueue\nmetadata: {{name: queue-0}}\nspec: {{stopPolice: Hold}}\n"
    )
    with pytest.raises(ManifestBroken, match="spec.stopPolice: there is no field stopPolice; write stopPolicy"):
        ForkChanges(files=[file])


def test_list_items_go_by_name_or_number() -> None:
    for path in ("flavors[default].resources[cpu]", "flavors[0].resources[0]"):
        manifest = manifest_of(next(one for one in large_day(20).platform if isinstance(one, ClusterQueueObserved)))
        assert manifest is not None
        ChangedField(f"clusterqueue/queue-0:spec.resourceGroups[0].{path}.nominalQuota=7").apply(manifest)
        assert manifest["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] == 7


def test_a_job_that_is_asked_about_gets_a_range(tmp_path: Path) -> None:
    entries, _ = played(large_day(200), cards=False)
    file = tmp_path / "job.yaml"
    file.write_text(JOB)
    fork = Fork(entries, "+6h", ForkChanges())
    jobs = submissions([file], fork.world, fork.point.at)
    fork.submit(jobs)
    plans = [
        RunPlan(name="early", quantile=25, recorded=False, submitted=True),
        RunPlan(name="likely", submitted=True),
        RunPlan(name="late", quantile=90, submitted=True),
        RunPlan(name="without"),
    ]
    told = play_all(fork, plans, lambda *_: None)
    runs = {name: told[name] for name in ("early", "likely", "late")}
    found = estimate(jobs[0].workload, runs, told["without"], told["likely"])  # type: ignore[union-attr]
    assert found.queue == "queue-0" and found.flavors == ("default",)
    assert found.early is not None and found.late is not None and found.early <= found.late
    assert fork.point.at > BEGINS


def test_a_job_that_would_not_get_in_is_told_why_and_what_would_let_it_in(tmp_path: Path) -> None:
    entries, _ = played(large_day(20), cards=False)
    file = tmp_path / "job.yaml"
    for asked, reason, fix in (
        (JOB.replace("queue-name: queue-0", "queue-name: nowhere"), "Misconfigured", "create the queue that is named"),
        (JOB.replace('cpu: "1"', 'cpu: "100000"'), "ExceedsMaxQuota", "ask for less"),
    ):
        file.write_text(asked)
        fork = Fork(entries, "+6h", ForkChanges())
        jobs = submissions([file], fork.world, fork.point.at)
        fork.submit(jobs)
        told = play_all(fork, [RunPlan(name="likely", submitted=True), RunPlan(name="without")], lambda *_: None)
        key = jobs[0].workload  # type: ignore[union-attr]
        found = estimate(key, {"likely": told["likely"]}, told["without"], told["likely"])
        assert found.early is None and found.refusal is not None
        assert found.refusal.reason == reason and found.refusal.fix.startswith(fix)
        text = StringIO()
        show_estimate(found, fork, Console(file=text, width=200))
        assert reason in text.getvalue() and "explain" not in text.getvalue()


def test_a_job_without_a_queue_is_a_mistake(tmp_path: Path) -> None:
    entries, _ = played(large_day(20), cards=False)
    file = tmp_path / "job.yaml"
    file.write_text(JOB.replace(", labels: {kueue.x-k8s.io/queue-name: queue-0}", ""))
    fork = Fork(entries, "", ForkChanges())
    with pytest.raises(ManifestBroken, match="no job that a queue manages"):
        submissions([file], fork.world, 0)


CLAIMED = """
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two, namespace: day}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 2}}]}}}
"""


def test_a_job_that_claims_devices_is_counted_by_the_templates_beside_it(tmp_path: Path) -> None:
    world, file = World(), tmp_path / "job.yaml"
    claims = "      resourceClaims: [{name: g, resourceClaimTemplateName: two}]\n      containers:"
    file.write_text(JOB.replace("      containers:", claims) + CLAIMED)
    world.use(SettingsObserved(device_class_mappings=(DeviceClassMapping(resource="gpus", classes=("gpu",)),)))
    (job,) = submissions([file], world, 0)
    assert isinstance(job, WorkloadSubmitted)
    assert [one.claims and one.claims.charged for one in job.spec.pod_sets] == [{"gpus": 2}]
    file.write_text(file.read_text().replace(CLAIMED, ""))
    with pytest.raises(ManifestBroken, match="failed to get claim spec for ResourceClaimTemplate two.*with -f as well"):
        submissions([file], world, 0)


def test_percentiles_are_values_that_were_seen() -> None:
    assert [percentile([1, 2, 3, 4], each) for each in (50, 75, 95, 100)] == [2, 3, 4, 4]
    assert percentile([], 50) == 0
