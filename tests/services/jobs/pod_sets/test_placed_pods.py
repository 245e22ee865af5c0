"""What pods that are placed by topology bear at the start of their job: Kueue's gate, and the annotation that says so."""

import pytest

from events.json_object import JsonObject
from events.json_path import get
from events.settings import SettingsObserved
from services.jobs.defaulting import waiting
from services.jobs.kinds.managed_kinds import kinds_of
from services.jobs.kinds.pods import gated, let_through
from services.jobs.kinds.table import APP_WRAPPER, JOB, SPARK, TRAIN_JOB
from services.jobs.pod_sets.pod_set import Injection, Original
from services.jobs.start_stop import injected, restored

OWN = {"name": "example.com/mine"}
CARDS, TOPOLOGY, ADMISSION = (
    {"name": name} for name in ("kuelog.io/cards", "kueue.x-k8s.io/topology", "kueue.x-k8s.io/admission")
)
FREE = "kueue.x-k8s.io/podset-unconstrained-topology"
TEMPLATE: JsonObject = {"spec": {"schedulingGates": [OWN]}}


def placed(pod_set: str, *, cards: bool = False, own: bool = False) -> Injection:
    original = Original(name=pod_set, count=3, unconstrained=own)
    return Injection(count=3, original=original, placed=True, gated=cards, annotations={} if own else {FREE: "true"})


def test_a_job_gets_the_gate_beside_those_for_cards_and_of_its_own_and_loses_it_at_the_stop() -> None:
    asked: JsonObject = {"metadata": {"name": "j"}, "spec": {"parallelism": 3, "template": TEMPLATE}}
    how = placed("main", cards=True)
    running = injected(JOB, injected(JOB, asked, [how]), [how])
    assert running["spec"]["template"]["spec"]["schedulingGates"] == [OWN, CARDS, TOPOLOGY]
    assert running["spec"]["template"]["metadata"]["annotations"] == {FREE: "true"}
    stopped = restored(JOB, running, [how.original])
    assert stopped["spec"]["template"] == TEMPLATE
    again = Injection(count=3, original=how.original)
    assert injected(JOB, running, [again])["spec"]["template"]["spec"]["schedulingGates"] == [OWN]


def test_what_a_job_says_itself_of_where_its_pods_may_lie_stays() -> None:
    template: JsonObject = {"metadata": {"annotations": {FREE: "t"}}, "spec": {}}
    asked: JsonObject = {"metadata": {"name": "j"}, "spec": {"parallelism": 3, "template": template}}
    how = placed("main", own=True)
    assert restored(JOB, injected(JOB, asked, [how]), [how.original])["spec"]["template"] == template


def test_every_way_of_describing_pods_takes_the_gate() -> None:
    wrapped = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": 3, "template": {"spec": {}}}}
    asked: JsonObject = {"metadata": {"name": "w"}, "spec": {"components": [{"template": wrapped}]}}
    (info,) = injected(APP_WRAPPER, asked, [placed("w-0")])["spec"]["components"][0]["podSetInfos"]
    assert info["schedulingGates"] == [TOPOLOGY]
    (patch,) = injected(TRAIN_JOB, {"metadata": {"name": "t"}, "spec": {}}, [placed("node", cards=True)])["spec"][
        "runtimePatches"
    ]
    (one,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert one["template"]["spec"]["template"]["spec"]["schedulingGates"] == [CARDS, TOPOLOGY]
    spark: JsonObject = {"metadata": {"name": "s"}, "spec": {"driver": {}, "executor": {"instances": 3}}}
    started = injected(SPARK, spark, [placed("executor")])
    assert get(started, ("spec", "executor", "template", "spec", "schedulingGates")) == [TOPOLOGY]
    stopped = restored(SPARK, started, [placed("executor").original])
    assert not get(stopped, ("spec", "executor", "template", "spec", "schedulingGates"))


def pod(**meta: dict[str, str]) -> JsonObject:
    return {"metadata": {"name": "p", **meta}, "spec": {"schedulingGates": [OWN], "containers": []}}


def test_a_pod_waits_at_both_gates_from_the_beginning_and_keeps_the_one_for_its_place() -> None:
    held = gated(pod())
    assert held["spec"]["schedulingGates"] == [OWN, ADMISSION, TOPOLOGY]
    assert gated(held)["spec"]["schedulingGates"] == [OWN, ADMISSION, TOPOLOGY]
    assert let_through(held, placed("main"))["spec"]["schedulingGates"] == [OWN, TOPOLOGY]
    anywhere = Injection(count=1, original=Original(name="main", count=1))
    assert let_through(held, anywhere)["spec"]["schedulingGates"] == [OWN]
    before = pod() | {"spec": {"schedulingGates": [ADMISSION]}}
    assert "schedulingGates" not in let_through(before, placed("main"))["spec"], "no gate can be added to a pod"


@pytest.mark.parametrize(("on", "index"), [(True, "3"), (False, None)])
def test_a_pod_of_a_group_bears_its_place_where_every_pod_of_a_group_does(on: bool, index: str | None) -> None:  # noqa: FBT001
    made = pod(
        labels={"kueue.x-k8s.io/queue-name": "q", "apps.kubernetes.io/pod-index": "3"},
        annotations={"kueue.x-k8s.io/pod-group-pod-index-label": "apps.kubernetes.io/pod-index"},
    )
    held = waiting(made, "Pod", kinds_of(SettingsObserved(gates={"TopologyAwareScheduling": on})))
    assert held["metadata"]["labels"].get("kueue.x-k8s.io/pod-group-pod-index") == index
    assert (TOPOLOGY in held["spec"]["schedulingGates"]) is on
