"""Steps wait for what they need: they begin once it is seen on the log, and a scenario that waits in vain says for what."""

from pathlib import Path

import pytest

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.sandbox.embedded_cluster.failures import ApiFailure
from ops.sandbox.embedded_cluster.kinds import BUILT_IN
from ops.sandbox.scenario.platform import platform, suspending, validating
from ops.sandbox.scenario.play import ScenarioStuck, play
from ops.sandbox.scenario.script import JobStanding, Need, ScenarioBroken, load
from tests.places import ROOT

NODES = "nodes: [{count: 1, prefix: cpu, cards: 0}]\n"
QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: lab}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: lab}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: default, resources: [{name: cpu, nominalQuota: 1}]}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: queue, namespace: lab}
spec: {clusterQueue: lab}
"""


def job(name: str) -> str:
    return f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: lab, labels: {{kueue.x-k8s.io/queue-name: queue}}}}
spec:
  template:
    metadata: {{annotations: {{kuelog.io/run-seconds: "5"}}}}
    spec: {{restartPolicy: Never, containers: [{{name: c, image: i, resources: {{requests: {{cpu: "1"}}}}}}]}}
"""


def scenario(folder: Path, steps: str, at_most: int = 300) -> Path:
    for name, text in (("queues", QUEUES), ("first", job("first")), ("second", job("second")), ("third", job("third"))):
        (folder / f"{name}.yaml").write_text(text)
    (folder / "scenario.yaml").write_text(f"title: t\natMost: {at_most}\nclockScale: 20\n{NODES}steps:\n{steps}")
    return folder


def test_a_job_without_a_queue_gets_the_default_one_of_its_namespace() -> None:
    kind = next(one for one in BUILT_IN if one.kind == "Job")
    value: JsonObject = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "lab"},
        "spec": {},
    }
    mutate = suspending(SettingsObserved(), lambda _: {}, has_default="lab".__eq__)
    assert mutate("CREATE", kind, value) == {
        **value,
        "metadata": {**value["metadata"], "labels": {"kueue.x-k8s.io/queue-name": "default"}},
        "spec": {"suspend": True},
    }
    validate = validating(SettingsObserved(), has_default="lab".__eq__)
    named = {**value, "metadata": {**value["metadata"], "uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}}
    with pytest.raises(ApiFailure, match="queue-name must not be empty"):
        validate("UPDATE", kind, {**named, "metadata": {**named["metadata"], "labels": {}}}, named)
    elsewhere = {**value, "metadata": {**value["metadata"], "namespace": "other"}}
    assert mutate("CREATE", kind, elsewhere) == elsewhere


async def played(folder: Path, data: Path) -> list[str]:
    script, said = load(folder), list[str]()
    async with platform(data, scale=script.clock_scale) as on:
        await play(script, folder, on, loose=False, print_line=said.append)
    return [line.partition(" s  ")[2] for line in said]


async def test_a_step_begins_when_its_needs_are_seen_on_the_log(tmp_path: Path) -> None:
    folder = scenario(
        tmp_path,
        "- {at: 0, say: one, apply: [queues.yaml, first.yaml]}\n"
        "- {at: 0, after: [{job: lab/first}], say: two, apply: [second.yaml]}\n"
        "- {at: 0, after: [{job: lab/second, state: waits}], say: three, apply: [third.yaml]}\n"
        "- {at: 0, after: [{job: lab/first, state: ended}], say: four}\n",
    )
    assert await played(folder, tmp_path / "data") == ["one", "two", "three", "four"]


async def test_what_never_comes_is_named_with_the_step_that_waits_for_it(tmp_path: Path) -> None:
    folder = scenario(
        tmp_path,
        "- {at: 0, apply: [queues.yaml, first.yaml]}\n"
        "- {at: 2, after: [{job: lab/nobody, state: waits}, {drift: Unmanaged, holder: 'pod:lab/x'}], say: then, apply: []}\n",
        at_most=8,
    )
    with pytest.raises(ScenarioStuck) as stuck:
        await played(folder, tmp_path / "data")
    told = str(stuck.value)
    assert told == "the step at 2 s (then) waits in vain until lab/nobody waits and Unmanaged of pod:lab/x is reported"


async def test_a_job_that_asks_for_what_is_not_done_yet_has_come_to_its_end(tmp_path: Path) -> None:
    folder = scenario(tmp_path, "- {at: 0, apply: [queues.yaml, claims.yaml]}\n", at_most=60)
    claims = "resourceClaims: [{name: gpu, resourceClaimTemplateName: one}], containers"
    (folder / "claims.yaml").write_text(job("claims").replace("containers", claims))
    script = load(folder)
    async with platform(tmp_path / "data", scale=script.clock_scale) as on:
        begin = on.clock.now()
        await play(script, folder, on, loose=False, print_line=lambda _line: None)
        assert on.clock.now() - begin < script.at_most * 1000, "nothing is waited for any more"


def test_a_state_that_there_is_not_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(ScenarioBroken, match="after"):
        load(scenario(tmp_path, "- {at: 0, after: [{job: a/b, state: sleeps}]}\n"))


@pytest.mark.parametrize("name", ["ai-platform", "devices-drift", "other-cards"])
def test_no_step_of_our_own_scenarios_but_the_first_goes_by_the_clock_alone(name: str) -> None:
    first, *rest = load(ROOT / "examples" / name).steps
    assert not first.after and all(step.after for step in rest)


def test_a_need_says_what_it_is() -> None:
    assert Need(job="a/b", state=JobStanding.ENDED).describe() == "a/b ended"
