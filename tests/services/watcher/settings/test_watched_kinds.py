"""Which kinds of jobs are looked at first: those that own others."""

from events.codec import decode_sighting
from events.job_kind import JobKind
from events.json_object import JsonObject
from events.settings import SettingsObserved
from events.subjects import FACTS
from events.workload import WorkloadSubmitted
from ops.production.log.memory import MemoryStream
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.table import APP_WRAPPER, JOB_SET, KINDS, RAY_CLUSTER, RAY_JOB, RAY_SERVICE, TRAIN_JOB
from services.runtime.cluster_port import Resource
from services.watcher.settings.watched_kinds import owners_first
from tests.services.watcher.scripted_cluster import Objects, OneOfSeveral, rest
from tests.stories.job_samples import definition, manifest


def test_kinds_that_own_others_come_before_those() -> None:
    own = Resource(group="example.com", version="v1", plural="sweeps", kind="Sweep")
    found = [one.kind for one in owners_first([*map(resource_of, KINDS), own])]
    place = {kind: number for number, kind in enumerate(found)}
    owners: list[tuple[JobKind, JobKind]] = [
        (TRAIN_JOB, JOB_SET),
        (RAY_JOB, RAY_CLUSTER),
        (RAY_SERVICE, RAY_CLUSTER),
    ]
    for owner, made in owners:
        assert place[owner.place] < place[made.place]
    assert [found[0], found[1]] == [APP_WRAPPER.place, "Sweep"], "they may hold anything"


def running(kind: JobKind, name: str, owner: JsonObject | None = None) -> JsonObject:
    """A job of Ray's, as it is found where a log begins."""
    value = manifest(kind, name)
    value["spec"]["suspend"] = False
    value["metadata"] |= {"uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 2}
    if owner is not None:
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
        value["metadata"]["ownerReferences"] = [{**reference, "uid": owner["metadata"]["uid"], "controller": True}]
    return value


async def test_the_first_look_at_what_a_managed_job_has_made_does_not_take_it_for_a_job_of_its_own() -> None:
    """Ray's operator gives a cluster the labels of its job, so that it names the same queue."""
    objects, stream = Objects(), MemoryStream(FACTS)
    for kind in (RAY_CLUSTER, RAY_JOB):
        value = definition(kind)
        await objects.put("CustomResourceDefinition", {**value, "metadata": {**value["metadata"], "uid": kind.kind}})
    job = running(RAY_JOB, "job")
    await objects.put("RayCluster", running(RAY_CLUSTER, "job-x", job))
    await objects.put("RayJob", job)
    one = OneOfSeveral(objects, stream)
    try:
        await rest(one)
        told = [decode_sighting(entry.data).fact for entry in stream.entries]
        owners = [fact.owner and fact.owner.kind for fact in told if isinstance(fact, WorkloadSubmitted)]
        assert owners == ["RayJob"]
    finally:
        await one.end()


async def test_what_makes_known_which_pods_a_job_has_is_looked_at_though_its_kind_is_not_managed() -> None:
    objects, stream = Objects(), MemoryStream(FACTS)
    for kind in (TRAIN_JOB, JOB_SET):
        value = definition(kind)
        await objects.put("CustomResourceDefinition", {**value, "metadata": {**value["metadata"], "uid": kind.kind}})
    job = running(TRAIN_JOB, "job")
    await objects.put("TrainJob", job)
    await objects.put("JobSet", running(JOB_SET, "job", job))
    one = OneOfSeveral(objects, stream, SettingsObserved(frameworks=(TRAIN_JOB.name,)))
    try:
        await rest(one)
        told = [decode_sighting(entry.data).fact for entry in stream.entries]
        owners = [fact.owner and fact.owner.kind for fact in told if isinstance(fact, WorkloadSubmitted)]
        assert owners == ["TrainJob"]
    finally:
        await one.end()
