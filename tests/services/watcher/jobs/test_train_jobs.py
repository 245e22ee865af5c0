"""TrainJobs: their pods are known from what their trainer makes here, or, of those that run elsewhere, from their runtime."""

from events.catalogue import Fact
from events.control import ObjectMended, ObjectRefused
from events.json_object import JsonObject
from events.settings import SettingsObserved
from events.workload import WorkloadChanged, WorkloadDeleted, WorkloadFinished, WorkloadSubmitted
from services.watcher.view import View

TEMPLATE = {"spec": {"containers": [{"name": "node", "resources": {"requests": {"cpu": "1"}}}]}}
NODE = {
    "name": "node",
    "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": TEMPLATE},
    },
}
RUNTIME = "ClusterTrainingRuntime"
ENDED = {"conditions": [{"type": "Complete", "status": "True", "message": "well"}]}


def train(*, elsewhere: bool = True, nodes: int | None = 2, status: JsonObject | None = None) -> JsonObject:
    managed = {"managedBy": "kueue.x-k8s.io/multikueue"} if elsewhere else {}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": "t",
            "namespace": "team",
            "uid": "u",
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"kueue.x-k8s.io/queue-name": "lq"},
        },
        "spec": {
            "suspend": True,
            "runtimeRef": {"name": "torch"},
            "trainer": {} if nodes is None else {"numNodes": nodes},
            **managed,
        },
        "status": status or {},
    }


def runtime(name: str = "torch") -> JsonObject:
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [NODE]}}}
    return {"kind": RUNTIME, "metadata": {"name": name, "uid": name, "resourceVersion": "1"}, "spec": spec}


def job_set() -> JsonObject:
    owner = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "t", "uid": "u"}
    meta = {"name": "t", "namespace": "team", "uid": "c", "ownerReferences": [{**owner, "controller": True}]}
    return {"kind": "JobSet", "metadata": meta, "spec": {"suspend": True, "replicatedJobs": [NODE]}}


def listed(view: View, *runtimes: JsonObject) -> list[Fact]:
    """What is told when all runtimes of the cluster are seen."""
    view.expect(RUNTIME, runtimes)
    found = [fact for one in runtimes for fact in view.see(RUNTIME, one)]
    return [*found, *view.settle(RUNTIME)]


def test_one_that_runs_elsewhere_asks_for_what_its_runtime_says() -> None:
    view = View()
    assert view.see("TrainJob", train()) == [], "its runtime may be seen later"
    (told,) = listed(view, runtime())
    assert isinstance(told, WorkloadSubmitted)
    (asked,) = told.spec.pod_sets
    assert (asked.name, asked.count, asked.shape.containers[0].requests) == ("node", 2, {"cpu": 1000})
    assert told.spec.managed_by == "kueue.x-k8s.io/multikueue"


def test_one_that_runs_here_goes_by_what_was_made_of_it_and_not_by_its_runtime() -> None:
    view = View()
    more = runtime()
    more["spec"]["mlPolicy"]["numNodes"] = 7
    assert listed(view, more) == []
    assert view.see("TrainJob", train(elsewhere=False, nodes=None)) == []
    (told,) = view.see("JobSet", job_set())
    assert isinstance(told, WorkloadSubmitted) and told.spec.pod_sets[0].count == 1


def test_its_pods_are_known_also_where_job_sets_are_not_managed() -> None:
    view = View(settings=SettingsObserved(frameworks=("trainer.kubeflow.org/trainjob",)))
    assert view.see("TrainJob", train(elsewhere=False, nodes=None)) == []
    (told,) = view.see("JobSet", job_set())
    assert isinstance(told, WorkloadSubmitted) and told.owner is not None and told.owner.kind == "TrainJob"


def test_one_that_runs_here_asks_for_what_it_says_by_now_though_nothing_is_made_of_that_while_it_runs() -> None:
    view = View()
    assert listed(view, runtime()) == []
    running = train(elsewhere=False, nodes=1)
    running["spec"]["suspend"] = False
    view.see("TrainJob", running)
    view.see("JobSet", job_set())
    running["spec"]["trainer"] = {"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "2"}}}
    (changed,) = view.see("TrainJob", running)
    assert isinstance(changed, WorkloadChanged)
    (asked,) = changed.spec.pod_sets
    assert (asked.count, asked.shape.containers[0].requests) == (3, {"cpu": 2000})
    running["spec"]["suspend"] = True
    assert view.see("TrainJob", running) == []
    resources = {"requests": {"cpu": "2"}}
    pod = {"spec": {"containers": [{"name": "node", "resources": resources}]}}
    made = job_set()
    template = {**NODE["template"], "spec": {"parallelism": 3, "completions": 3, "template": pod}}
    made["spec"] = {"suspend": True, "replicatedJobs": [{**NODE, "template": template}]}
    assert view.see("JobSet", made) == [], "the trainer has come to the same"


def test_what_one_says_counts_as_soon_as_its_runtime_is_seen() -> None:
    view = View()
    assert view.see("TrainJob", train(elsewhere=False, nodes=3)) == []
    (told,) = view.see("JobSet", job_set())
    assert isinstance(told, WorkloadSubmitted) and told.spec.pod_sets[0].count == 1
    (changed,) = listed(view, runtime())
    assert isinstance(changed, WorkloadChanged) and changed.spec.pod_sets[0].count == 3


def test_one_whose_runtime_is_not_there_waits_and_is_told_so() -> None:
    view = View()
    view.see("TrainJob", train())
    (refused,) = listed(view, runtime("other"))
    assert isinstance(refused, ObjectRefused)
    (problem,) = refused.problems
    assert (problem.field, problem.message) == ("spec.runtimeRef.name", "ClusterTrainingRuntime torch doesn't exist")
    told = view.see(RUNTIME, runtime())
    assert [type(one) for one in told] == [WorkloadSubmitted], "which means that it is understood"
    assert not any(isinstance(one, ObjectMended) for one in told)


def test_one_that_waits_asks_for_more_when_it_says_so() -> None:
    view = View()
    view.see("TrainJob", train())
    listed(view, runtime())
    (changed,) = view.see("TrainJob", train(nodes=5))
    assert isinstance(changed, WorkloadChanged) and changed.spec.pod_sets[0].count == 5


def test_one_that_was_reported_goes_on_while_what_says_its_pods_is_not_seen() -> None:
    for elsewhere in (True, False):
        view, again = View(), View()
        facts = view.see("TrainJob", train(elsewhere=elsewhere, nodes=1))
        facts += listed(view, runtime()) if elsewhere else view.see("JobSet", job_set())
        for fact in facts:
            again.fold(fact)
        assert again.see("TrainJob", train(elsewhere=elsewhere, nodes=1)) == [], (
            "a watcher that starts anew has not seen it yet"
        )
        assert again.see(RUNTIME, runtime()) == [] and again.see("JobSet", job_set()) == []


def test_the_end_of_one_whose_runtime_is_gone_is_told() -> None:
    view = View()
    view.see("TrainJob", train())
    listed(view, runtime())
    assert view.lose(RUNTIME, "", "torch") == []
    told = view.see("TrainJob", train(status=ENDED))
    assert [type(one) for one in told] == [WorkloadFinished]
    assert [type(one) for one in view.lose("TrainJob", "team", "t")] == [WorkloadDeleted]


def test_what_it_gets_to_start_is_not_what_it_asks_for() -> None:
    """It is in the JobSet before the decision is on the TrainJob."""
    view = View()
    view.see("TrainJob", train(elsewhere=False))
    view.see("JobSet", job_set())
    got = {"nodeSelector": {"pool": "a"}}
    patch = {"name": "node", "template": {"spec": {"template": {"spec": got}}}}
    ours = {
        "manager": "kueue.x-k8s.io/manager",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patch]}}},
    }
    patched = train(elsewhere=False)
    patched["spec"]["runtimePatches"] = [ours]
    assert view.see("TrainJob", patched) == []
    made = job_set()
    made["spec"] = {
        "suspend": True,
        "replicatedJobs": [
            {**NODE, "template": {**NODE["template"], "spec": {"template": {"spec": {**TEMPLATE["spec"], **got}}}}}
        ],
    }
    assert view.see("JobSet", made) == []
