"""Which jobs are managed under a configuration, and what of them their Workloads show."""

from msgspec.structs import replace

from events.api.labels import MANAGED
from events.catalogue import Fact
from events.control import ObjectRefused
from events.json_object import JsonObject
from events.json_path import put
from events.quota import LocalQueueObserved, NamespaceObserved
from events.selector import LabelSelector, Operator, Requirement
from events.settings import SettingsObserved
from events.workload import WorkloadDeleted, WorkloadFinished, WorkloadSubmitted
from services.applier.events.cluster_events import refusal_event
from services.watcher.view import View
from tests.services.watcher.jobs.test_app_wrappers import WRAPPER
from tests.services.watcher.pods.test_pod_members import pod
from tests.services.watcher.test_view import job

QUEUE = "kueue.x-k8s.io/queue-name"


def labelled(value: JsonObject, **labels: str) -> JsonObject:
    value["metadata"]["labels"] = {**value["metadata"]["labels"], **labels}
    return value


def unnamed(value: JsonObject) -> JsonObject:
    del value["metadata"]["labels"][QUEUE]
    return value


def test_in_namespaces_that_are_not_managed_nothing_is_told_of_jobs_and_pods() -> None:
    view = View(settings=SettingsObserved(managed_namespaces=LabelSelector(labels={"jobs": "ours"})))
    assert view.see("Job", job()) == [], "nothing is known of the namespace yet"
    view.fold(NamespaceObserved(name="team", labels={}))
    assert view.see("Job", job()) == [] and view.see("Pod", pod("a")) == [] and view.see("Pod", pod("b")) == []
    view.fold(NamespaceObserved(name="team", labels={"jobs": "ours"}))
    (submitted,) = view.see("Job", job())
    assert isinstance(submitted, WorkloadSubmitted)
    view.fold(NamespaceObserved(name="team", labels={}))
    assert view.see("Job", job()) == [], "what is known is not forgotten for that"


def test_a_namespace_that_is_left_out_by_its_name_is_so_before_it_was_seen() -> None:
    outside = Requirement(key="kubernetes.io/metadata.name", operator=Operator.NOT_IN, values=("kube-system",))
    view = View(settings=SettingsObserved(managed_namespaces=LabelSelector(expressions=(outside,)), without_queue=True))
    system = running(unnamed(job()))
    system["metadata"]["namespace"] = "kube-system"
    assert view.see("Job", system) == [] and view.see("Job", labelled(system, **{QUEUE: "lq"})) == []
    assert [type(one) for one in view.see("Job", job())] == [WorkloadSubmitted], "its name says enough"
    assert not view.chooses, "no label of a namespace can change that"


def test_a_job_that_names_no_queue_is_told_of_only_where_all_are_managed() -> None:
    assert View().see("Job", unnamed(job())) == []
    (submitted,) = View(settings=SettingsObserved(without_queue=True)).see("Job", unnamed(job()))
    assert isinstance(submitted, WorkloadSubmitted) and submitted.spec.queue == ""
    made_by_another = unnamed(job())
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "o", "uid": "u", "controller": True}
    made_by_another["metadata"]["ownerReferences"] = [owner]
    assert View(settings=SettingsObserved(without_queue=True)).see("Job", made_by_another) == []


OF_TEAM = LocalQueueObserved(namespace="team", name="default", cluster_queue="cq")


def running(value: JsonObject) -> JsonObject:
    value["spec"]["suspend"], value["status"] = False, {"active": 1, "ready": 1}
    return value


def test_a_default_queue_that_comes_later_takes_no_job_that_is_there_already() -> None:
    view = View()
    assert view.see("Job", running(unnamed(job()))) == []
    view.fold(OF_TEAM)
    assert view.see("Job", running(unnamed(job()))) == [], "a new job gets its label from the webhook"
    waiting = unnamed(job())
    waiting["spec"]["suspend"] = True
    assert view.see("Job", waiting) == [], "its user suspended it"


def test_a_job_that_was_reported_in_the_default_queue_without_a_label_stays_there_also_when_that_goes() -> None:
    view = View()
    (submitted,) = view.see("Job", labelled(job(), **{QUEUE: "default"}))
    assert isinstance(submitted, WorkloadSubmitted) and submitted.spec.queue == "default"
    view.fold(OF_TEAM)
    assert WorkloadDeleted not in [type(one) for one in view.see("Job", running(unnamed(job())))]
    view.lose("LocalQueue", "team", "default")
    assert view.see("Job", running(unnamed(job()))) == [], "it would be stopped, or run without quota"


def ended(value: JsonObject) -> JsonObject:
    value["spec"]["suspend"], value["status"] = False, {"conditions": [{"type": "Complete", "status": "True"}]}
    return value


def test_nothing_is_told_of_a_job_that_had_ended_before_it_was_seen() -> None:
    assert View().see("Job", ended(job())) == []
    view = View()
    view.see("Job", job())
    assert WorkloadFinished in [type(one) for one in view.see("Job", ended(job()))]
    again = ended(job())
    again["metadata"]["uid"] = "u-2"
    assert [type(one) for one in view.see("Job", again)] == [WorkloadDeleted], "another one of its name had ended, too"


def test_pods_and_groups_that_had_ended_before_they_were_seen_are_told_so_that_they_are_let_go() -> None:
    view = View()
    both = [pod(name, phase="Succeeded", gated=False, node="n") for name in ("a", "b")]
    told = [type(fact) for one in both for fact in view.see("Pod", one)]
    assert WorkloadSubmitted in told and WorkloadFinished in told
    alone = pod("c", phase="Succeeded", gated=False, node="n", labels={QUEUE: "lq", MANAGED: "true"}, annotations={})
    assert [type(fact) for fact in View().see("Pod", alone)][0] is WorkloadSubmitted


def test_a_job_that_has_ended_ends_the_workload_that_another_manager_has_made_for_it() -> None:
    view = View()
    (told,) = View().see("Job", job())
    assert isinstance(told, WorkloadSubmitted)
    name = told.workload.partition("/")[2]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u-1", "controller": True}
    meta = {"name": name, "namespace": "team", "uid": "w", "ownerReferences": [owner]}
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    spec = {"queueName": "lq", "podSets": [{"name": "main", "count": 2, "template": template}]}
    view.see("Workload", {"apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": meta, "spec": spec})
    assert {WorkloadSubmitted, WorkloadFinished} <= {type(one) for one in view.see("Job", ended(job()))}


def test_a_job_leaves_another_queue_than_the_default_one_when_it_names_none_any_more() -> None:
    view = View()
    view.fold(OF_TEAM)
    view.see("Job", labelled(job(), **{QUEUE: "lq"}))
    assert [type(one) for one in view.see("Job", unnamed(job()))] == [WorkloadDeleted]


def owned(value: JsonObject, name: str, kind: str, owner: str, api: str = "batch/v1") -> JsonObject:
    reference = {"apiVersion": api, "kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    value["metadata"] = {**value["metadata"], "name": name, "uid": f"uid-{name}", "ownerReferences": [reference]}
    return value


def test_a_job_goes_with_a_managed_one_that_owns_it_over_others() -> None:
    view = View()
    top = job()
    top["metadata"] = {**top["metadata"], "name": "top", "uid": "uid-top"}
    assert [type(one) for one in view.see("Job", top)] == [WorkloadSubmitted]
    assert view.see("Job", owned(unnamed(job()), "middle", "Job", "top")) == []
    assert view.see("Job", owned(job(), "low", "Job", "middle")) == [], "its owner's owner starts and stops it"
    elsewhere = view.see("Job", owned(job(), "apart", "Job", "unseen"))
    assert [type(one) for one in elsewhere] == [WorkloadSubmitted], "nobody who is managed is above it"


def test_a_job_that_was_seen_before_the_managed_one_that_owns_it_is_no_job_of_its_own_from_then_on() -> None:
    view = View()
    (early,) = view.see("Job", owned(job(), "low", "Job", "middle"))
    assert isinstance(early, WorkloadSubmitted)
    top = job()
    top["metadata"] = {**top["metadata"], "name": "top", "uid": "uid-top"}
    assert [type(one) for one in view.see("Job", top)] == [WorkloadSubmitted], "nobody knows yet that it owns anything"
    assert view.see("Job", owned(unnamed(job()), "middle", "Job", "top")) == [WorkloadDeleted(workload=early.workload)]
    assert view.see("Job", owned(job(), "low", "Job", "middle")) == []

    view = View()
    (early,) = view.see("Job", owned(job(), "middle", "Job", "top"))
    assert isinstance(early, WorkloadSubmitted)
    (told, withdrawn) = view.see("Job", top)
    assert isinstance(told, WorkloadSubmitted) and withdrawn == WorkloadDeleted(workload=early.workload)
    assert view.see("Job", top) == []

    view = View()
    (early,) = view.see("Job", owned(job(), "middle", "Job", "top"))
    assert view.see("Job", unnamed(top)) == [], "it is not managed itself"
    assert view.see("Job", owned(job(), "middle", "Job", "other")) == []
    assert [type(one) for one in view.see("Job", labelled(top, **{QUEUE: "lq"}))] == [WorkloadSubmitted], (
        "it owns nothing any more"
    )


def test_jobs_that_own_each_other_are_queued_as_little_as_by_kueue() -> None:
    view = View()
    (early,) = view.see("Job", owned(job(), "a", "Job", "b"))
    assert isinstance(early, WorkloadSubmitted)
    assert view.see("Job", owned(job(), "b", "Job", "a")) == [WorkloadDeleted(workload=early.workload)]
    assert [type(one) for one in view.see("Job", owned(job(), "a", "Job", "b"))] == [ObjectRefused]


def test_the_search_for_a_managed_owner_goes_on_over_kinds_that_are_not_managed() -> None:
    """Otherwise the job would be charged beside the one that it is a part of."""
    wrapper, job_set = "workload.codeflare.dev/v1beta2", "jobset.x-k8s.io/v1alpha2"
    only = ("batch/job", "workload.codeflare.dev/appwrapper")
    view = View(settings=SettingsObserved(frameworks=only))
    assert [type(one) for one in view.see("AppWrapper", WRAPPER)] == [WorkloadSubmitted]
    (early,) = view.see("Job", owned(job(), "low", "JobSet", "middle", job_set))
    assert isinstance(early, WorkloadSubmitted)
    middle = owned(job(), "middle", "AppWrapper", "w", wrapper)
    assert view.see("JobSet", middle) == [WorkloadDeleted(workload=early.workload)]
    assert view.see("Job", owned(job(), "low", "JobSet", "middle", job_set)) == []
    apart = view.see("Job", owned(job(), "apart", "JobSet", "alone", job_set))
    assert [type(one) for one in apart] == [WorkloadSubmitted], "its kind does not make a JobSet managed"


def test_a_job_with_more_than_ten_owners_above_it_is_refused_in_kueues_words() -> None:
    def chain(length: int, *, top_is_managed: bool = True) -> list[Fact]:
        view = View()
        top = job() if top_is_managed else unnamed(job())
        top["metadata"] = {**top["metadata"], "name": "job-0", "uid": "uid-0"}
        view.see("Job", top)
        for number in range(1, length):
            view.see("Job", owned(unnamed(job()), f"job-{number}", "Job", f"job-{number - 1}"))
        return view.see("Job", owned(job(), "last", "Job", f"job-{length - 1}"))

    assert chain(10) == []
    (refused,) = chain(11)
    assert isinstance(refused, ObjectRefused)
    assert refused.problems[0].field == "metadata.ownerReferences"
    told = refusal_event(refused, 1)
    assert (told.kind, told.name, told.warning, told.reason) == ("Job", "last", True, "JobNestingTooDeep")
    assert "Terminated search for Kueue-managed Job because ancestor depth exceeded limit of 10" in told.message
    assert [type(one) for one in chain(10, top_is_managed=False)] == [WorkloadSubmitted], "nobody above it is managed"
    assert [type(one) for one in chain(11, top_is_managed=False)] == [ObjectRefused], "how far it goes on isn't known"


def test_labels_are_copied_as_they_were_at_first() -> None:
    view = View(settings=SettingsObserved(copied_labels=("cost", "team")))
    (submitted,) = view.see("Job", labelled(job(), cost="a", other="b"))
    assert isinstance(submitted, WorkloadSubmitted) and submitted.spec.labels == {"cost": "a"}
    assert view.see("Job", labelled(job(), cost="c")) == []


def test_pods_of_a_group_agree_on_the_labels_that_are_copied() -> None:
    view = View(settings=SettingsObserved(copied_labels=("cost",)))
    view.see("Pod", labelled(pod("a"), cost="a"))
    (refused,) = view.see("Pod", labelled(pod("b"), cost="b"))
    assert isinstance(refused, ObjectRefused) and "different values: a and b" in refused.problems[0].message
    (submitted,) = view.see("Pod", labelled(pod("b"), cost="a"))
    assert isinstance(submitted, WorkloadSubmitted) and submitted.spec.labels == {"cost": "a"}


def test_pod_sets_with_names_that_no_workload_can_bear_are_refused_unless_they_were_reported_so() -> None:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    group = {"groupName": "small.group", "replicas": 1, "template": template}
    value = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "r", "namespace": "team", "uid": "u-1", "labels": {QUEUE: "lq"}},
        "spec": {"suspend": True, "headGroupSpec": {"template": template}, "workerGroupSpecs": [group]},
    }
    view = View()
    (refused,) = view.see("RayCluster", value)
    assert isinstance(refused, ObjectRefused) and "'small.group' can be no name" in refused.problems[0].message
    (submitted,) = view.see("RayCluster", put(value, ("spec", "workerGroupSpecs", 0, "groupName"), "small-group"))
    assert isinstance(submitted, WorkloadSubmitted)
    sets = tuple(replace(one, name=one.name.replace("-", ".")) for one in submitted.spec.pod_sets)
    before = View()
    before.fold(replace(submitted, spec=replace(submitted.spec, pod_sets=sets)))
    assert before.see("RayCluster", value) == []
