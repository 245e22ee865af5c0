"""What is put into a job beside what its owner wrote leaves that in his words."""

from events.api.labels import MULTIKUEUE_WORKER_POD, POD_SET, WORKLOAD
from events.json_object import JsonObject
from events.json_path import look
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.table import JOB
from services.jobs.pod_sets.injection import inject, restore
from services.jobs.pod_sets.pod_set import Injection, Original

SHORT: JsonObject = {"key": "spot", "value": "yes"}
LONG: JsonObject = {"key": "spot", "operator": "Equal", "value": "yes"}
LOOSE: JsonObject = {"operator": "Exists"}


def a_job(*tolerations: JsonObject) -> JsonObject:
    spec = {"containers": [{"name": "c"}], "tolerations": list(tolerations)}
    return {"metadata": {"name": "j"}, "spec": {"parallelism": 1, "template": {"spec": spec}}}


def test_tolerations_stay_as_their_owner_has_written_them() -> None:
    asked = Original(name="main", count=1, tolerations=(LONG,))
    for written in (SHORT, LONG):
        job = a_job(written)
        (pods,) = pods_of(JOB, job)
        begun = inject(job, pods, Injection(count=1, original=asked, tolerations=(LOOSE,)))
        assert begun["spec"]["template"]["spec"]["tolerations"] == [written, LOOSE]
        assert restore(begun, pods, asked)["spec"]["template"]["spec"]["tolerations"] == [written]


def test_that_a_job_was_sent_here_is_taken_out_of_its_pods_when_it_stops() -> None:
    asked = Original(name="main", count=1)
    (pods,) = pods_of(JOB, a_job())
    begun = inject(a_job(), pods, Injection(count=1, original=asked, labels={MULTIKUEUE_WORKER_POD: "true"}))
    assert begun["spec"]["template"]["metadata"]["labels"] == {MULTIKUEUE_WORKER_POD: "true"}
    assert not look(restore(begun, pods, asked), "spec.template.metadata.labels")


def test_nodes_that_a_job_asks_for_beyond_the_workload_that_it_names_are_those_it_gets() -> None:
    job = a_job()
    job["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "a"}
    (pods,) = pods_of(JOB, job)
    own, named = (Original(name="main", count=1, node_selector={"disk": "ssd"}, named=named) for named in (False, True))
    given = {"node_selector": {"pool": "p"}, "annotations": {WORKLOAD: "w"}}
    begun = inject(job, pods, Injection(count=1, original=named, **given))
    wanted = {"zone": "a", "disk": "ssd", "pool": "p"}
    assert begun["spec"]["template"]["spec"]["nodeSelector"] == wanted
    other = Injection(count=1, original=named, node_selector={"pool": "other"}, annotations={WORKLOAD: "w"})
    (pods,) = pods_of(JOB, begun)
    assert inject(begun, pods, other)["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd", "pool": "other"}, (
        "what was injected before does not stay"
    )
    (pods,) = pods_of(JOB, job)
    alone = inject(job, pods, Injection(count=1, original=own, **given))
    assert alone["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd", "pool": "p"}


def test_what_a_template_says_under_names_of_ours_is_overwritten_and_the_job_starts() -> None:
    job = a_job()
    template = job["spec"]["template"]
    template["metadata"] = {"labels": {POD_SET: "mine"}, "annotations": {WORKLOAD: "of-before"}}
    template["spec"]["nodeSelector"] = {"pool": "b"}
    (pods,) = pods_of(JOB, job)
    given = Injection(
        count=1,
        original=Original(name="main", count=1, node_selector={"pool": "b"}),
        labels={POD_SET: "main"},
        annotations={WORKLOAD: "w"},
        node_selector={"pool": "a"},
    )
    begun = inject(job, pods, given)["spec"]["template"]
    assert begun["metadata"]["labels"] == {POD_SET: "main"}
    assert begun["metadata"]["annotations"][WORKLOAD] == "w"
    assert begun["spec"]["nodeSelector"] == {"pool": "a"}


def test_another_operator_is_another_toleration() -> None:
    (pods,) = pods_of(JOB, a_job())
    there = a_job({"key": "spot", "operator": "Exists"})
    assert restore(there, pods, Original(name="main", count=1, tolerations=(LONG,)))["spec"]["template"]["spec"][
        "tolerations"
    ] == [LONG]
