"""The gate before pods that have different cards: in every kind of job that can have one, and gone when the job stops."""

from events.api.labels import CARDS_GATE
from events.json_object import JsonObject
from services.jobs.kinds.table import APP_WRAPPER, JOB, SPARK, TRAIN_JOB
from services.jobs.pod_sets.pod_set import Injection, Original
from services.jobs.pod_sets.scheduling_gates import waits_at, with_own_cards
from services.jobs.start_stop import injected, restored

OWN, OURS = {"name": "example.com/mine"}, {"name": CARDS_GATE}
TEMPLATE: JsonObject = {"spec": {"schedulingGates": [OWN]}}


def gated(pod_set: str, count: int = 3) -> Injection:
    return Injection(count=count, original=Original(name=pod_set, count=count), gated=True)


def test_a_job_gets_the_gate_beside_its_own_once_and_loses_it_at_the_stop() -> None:
    asked: JsonObject = {"metadata": {"name": "j"}, "spec": {"parallelism": 3, "template": TEMPLATE}}
    running = injected(JOB, injected(JOB, asked, [gated("main")]), [gated("main")])
    assert running["spec"]["template"]["spec"]["schedulingGates"] == [OWN, OURS]
    assert restored(JOB, running, [gated("main").original])["spec"]["template"]["spec"] == TEMPLATE["spec"]


def test_a_job_whose_pods_have_the_same_cards_at_its_next_start_has_no_gate_left() -> None:
    asked: JsonObject = {"metadata": {"name": "j"}, "spec": {"parallelism": 3, "template": TEMPLATE}}
    again = Injection(count=3, original=Original(name="main", count=3))
    running = injected(JOB, injected(JOB, asked, [gated("main")]), [again])
    assert running["spec"]["template"]["spec"]["schedulingGates"] == [OWN]


def test_what_stands_beside_a_template_bears_the_gate_itself() -> None:
    wrapped = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": 3, "template": {"spec": {}}}}
    asked: JsonObject = {"metadata": {"name": "w"}, "spec": {"components": [{"template": wrapped}]}}
    (info,) = injected(APP_WRAPPER, asked, [gated("w-0")])["spec"]["components"][0]["podSetInfos"]
    assert info["schedulingGates"] == [OURS]
    (patch,) = injected(TRAIN_JOB, {"metadata": {"name": "t"}, "spec": {}}, [gated("node")])["spec"]["runtimePatches"]
    (one,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert one["template"]["spec"]["template"]["spec"]["schedulingGates"] == [OURS]


def test_executors_of_spark_have_no_gate_for_nothing_there_takes_one() -> None:
    asked: JsonObject = {"metadata": {"name": "s"}, "spec": {"driver": {}, "executor": {"instances": 3}}}
    assert "schedulingGates" not in injected(SPARK, asked, [gated("executor")])["spec"]["executor"]


def test_a_pod_that_is_told_its_cards_keeps_all_else_that_it_waits_for() -> None:
    pod: JsonObject = {"metadata": {"name": "p"}, "spec": {"schedulingGates": [OWN, OURS]}}
    assert waits_at(pod, CARDS_GATE)
    told = with_own_cards(pod, {"nvidia.com/use-gpuuuid": "GPU-1"})
    assert told["metadata"]["annotations"] == {"nvidia.com/use-gpuuuid": "GPU-1"}
    assert told["spec"] == {"schedulingGates": [OWN]} and not waits_at(told, CARDS_GATE)
