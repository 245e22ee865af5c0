"""Whose a new object is: a job above it counts that names a queue, or any where all jobs are managed."""

import pytest

from events.json_object import JsonObject
from events.json_path import get
from events.settings import SettingsObserved
from services.jobs.defaulting import queued_later, suspend_queued, waiting
from services.jobs.kinds.managed_kinds import Kinds, kinds_of
from services.jobs.owners import SoughtOwner, answered, depends_on_owner, managed_above

QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
GATES = ("spec", "schedulingGates")
PLAIN = kinds_of(SettingsObserved())
ALL = kinds_of(SettingsObserved(without_queue=True))
APIS = {
    "Job": "batch/v1",
    "Pod": "v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "AppWrapper": "workload.codeflare.dev/v1beta2",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Workflow": "argoproj.io/v1alpha1",
    "Forest": "example.com/v1",
}


def made(kind: str, name: str = "", owner: JsonObject | None = None, *, queue: bool = False) -> JsonObject:
    """An object, and who has made it."""
    meta: JsonObject = {"name": name or kind.lower(), "namespace": "team", "labels": QUEUE if queue else {}}
    if owner is not None:
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
        meta["ownerReferences"] = [{**reference, "uid": "u", "controller": True}]
    spec: JsonObject = {"containers": []} if kind == "Pod" else {"template": {"spec": {"containers": []}}}
    return {"apiVersion": APIS[kind], "kind": kind, "metadata": meta, "spec": spec}


def owned(value: JsonObject, kinds: Kinds, *there: JsonObject) -> tuple[bool, list[str]]:
    """Whether a managed job owns it, and who was asked for."""
    read: list[str] = []

    def find(sought: SoughtOwner) -> JsonObject | None:
        read.append(sought.resource.plural)
        same = (one for one in there if (one["kind"], one["metadata"]["name"]) == (sought.resource.kind, sought.name))
        return next(same, None)

    return answered(managed_above(value, kinds), find), read


@pytest.mark.parametrize(("queue", "waits"), [(True, False), (False, True)])
def test_a_pod_and_a_job_that_name_a_queue_wait_where_what_owns_them_names_none(*, queue: bool, waits: bool) -> None:
    """Else they would run without quota."""
    job = made("Job", queue=queue)
    pod = made("Pod", owner=job, queue=True)
    found, _ = owned(pod, PLAIN, job)
    assert (found, bool(get(waiting(pod, "Pod", PLAIN, owned=found), GATES))) == (not waits, waits)
    job_set = made("JobSet", queue=queue)
    child = made("Job", owner=job_set, queue=True)
    found, _ = owned(child, PLAIN, job_set)
    assert bool(waiting(child, "Job", PLAIN, owned=found)["spec"].get("suspend")) == waits


def test_where_all_jobs_are_managed_the_kind_of_an_owner_is_enough() -> None:
    assert owned(made("Pod", owner=made("Job")), ALL) == (True, [])
    assert owned(made("Pod", owner=made("Workflow")), ALL) == (False, [])


def test_an_owner_that_is_gone_keeps_nothing_running() -> None:
    assert owned(made("Pod", owner=made("Job"), queue=True), PLAIN) == (False, ["jobs"])


def test_what_somebody_else_manages_takes_what_it_owns_along_whatever_it_names() -> None:
    kinds = kinds_of(SettingsObserved(external_frameworks=("Forest.v1.example.com",)))
    assert owned(made("Job", owner=made("Forest"), queue=True), kinds) == (True, [])


@pytest.mark.parametrize("kinds", [PLAIN, ALL])
def test_what_serves_inside_a_managed_job_starts_with_that_and_its_pods_pass(kinds: Kinds) -> None:
    """Between a pod and the Deployment is a ReplicaSet, which is nobody's kind of job."""
    named = kinds is PLAIN
    wrapper = made("AppWrapper", queue=named)
    for kind in ("Deployment", "StatefulSet"):
        serving = made(kind, owner=wrapper, queue=named)
        found, _ = owned(serving, kinds, wrapper)
        assert found
        assert waiting(serving, kind, kinds, owned=found) == serving == queued_later(serving, kind, kinds, owned=found)
        maker = made("ReplicaSet", owner=serving) if kind == "Deployment" else serving
        pod = made("Pod", owner=maker, queue=named)
        found, read = owned(pod, kinds, maker, serving, wrapper)
        assert found and read[-1] == ("appwrappers" if named else f"{kind.lower()}s")
        assert waiting(pod, "Pod", kinds, owned=found) == pod
    alone = made("Deployment", queue=True)
    found, _ = owned(alone, kinds)
    assert waiting(alone, "Deployment", kinds, owned=found) != alone


def test_the_search_goes_on_over_kinds_that_are_not_managed() -> None:
    only = ("pod", "workload.codeflare.dev/appwrapper")
    for takes_all in (False, True):
        kinds = kinds_of(SettingsObserved(frameworks=only, without_queue=takes_all))
        wrapper = made("AppWrapper", queue=not takes_all)
        job_set = made("JobSet", owner=wrapper)
        job = made("Job", owner=job_set)
        assert owned(made("Pod", owner=job, queue=not takes_all), kinds, wrapper, job_set, job)[0]
    job = made("Job", queue=True)
    assert not owned(made("Pod", owner=job, queue=True), kinds, job)[0], "its kind is not managed"


def test_more_owners_than_kueue_looks_up_are_none() -> None:
    chain = [made("Job", "job-0", queue=True)]
    for number in range(1, 11):
        chain.append(made("Job", f"job-{number}", chain[-1]))
    assert owned(made("Pod", owner=chain[9], queue=True), PLAIN, *chain)[0]
    assert not owned(made("Pod", owner=chain[10], queue=True), PLAIN, *chain)[0]


def test_who_owns_an_object_matters_only_where_it_would_wait_for_itself() -> None:
    job = made("Job")
    assert depends_on_owner(made("Pod", owner=job, queue=True), "Pod", PLAIN)
    assert not depends_on_owner(made("Pod", owner=job), "Pod", PLAIN), "it names no queue"
    assert not depends_on_owner(made("Pod", queue=True), "Pod", PLAIN), "nobody has made it"
    some = kinds_of(SettingsObserved(frameworks=("batch/job",)))
    assert not depends_on_owner(made("JobSet", owner=job, queue=True), "JobSet", some), "its kind is not managed"
    of_a_set = made("Pod", owner=made("StatefulSet"), queue=True)
    of_a_set["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}
    assert not depends_on_owner(of_a_set, "Pod", PLAIN), "that has said so"


def test_a_pod_does_not_pass_for_that_of_something_that_serves() -> None:
    pod = made("Pod", owner=made("Job"), queue=True)
    pod["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-suspending-parent": "deployment"}
    assert get(waiting(pod, "Pod"), GATES)


def test_where_nobody_has_looked_the_kind_of_the_owner_has_to_do() -> None:
    assert not get(suspend_queued("CREATE", "Pod", made("Pod", owner=made("Job"), queue=True)), GATES)
    assert get(suspend_queued("CREATE", "Pod", made("Pod", owner=made("ReplicaSet"), queue=True)), GATES)
