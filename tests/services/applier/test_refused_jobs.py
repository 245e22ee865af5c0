"""What becomes of a job that runs and can't be understood."""

import asyncio

from msgspec.structs import replace

from events.control import ObjectMended, ObjectProblem, ObjectRefused
from events.subjects import FACTS
from ops.production.crds.definitions import manifests
from ops.production.log.memory import MemoryStream
from ops.production.process.clock import ScaledClock
from services.applier.shell import Applier
from services.applier.workloads.known_objects import WORKLOADS
from services.applier.writes.low_priority_writes import LowPriorityWrites
from services.jobs.kinds.table import JOB
from services.jobs.workload_name import workload_name
from services.runtime.cluster_port import Resource
from tests.services.applier.in_process import InProcess
from tests.stories.small_world import Story, job, platform

JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job")
NAMESPACES = Resource(plural="namespaces", kind="Namespace")


async def test_a_job_that_runs_and_is_not_understood_is_stopped_unless_it_was_let_in() -> None:
    cluster, story = InProcess(manifests(), 1), Story()
    await cluster.create(NAMESPACES, "", {"metadata": {"name": "team"}})
    refused = [await running(cluster, name) for name in ("free", "admitted", "another", "elsewhere", "sliced")]
    await admitted(cluster, refused[1])
    refused[2] = replace(refused[2], uid="of one that was there before")
    refused[3] = replace(refused[3], kind="JobSet")
    suspended = replace(refused[0], name="suspended", running=0)
    sliced = job("sliced-7")
    story.told(*platform(nominal=1), replace(sliced, owner=replace(sliced.owner, uid=refused[4].uid))).decided()
    story.told(suspended, *refused)
    clock = ScaledClock(100)
    applier = Applier(cluster, MemoryStream(FACTS), clock, "LOG_0", LowPriorityWrites(clock))
    task = asyncio.create_task(applier.run())
    applier.observe(story.world, [])
    for _ in range(5000):  # So much nobody takes who does not wait for a clock.
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [await is_suspended(cluster, one.name) for one in refused] == [True, False, False, False, False]
    events = cluster.resources.store.of("events").values()
    (told,) = [one for one in events if one["reason"] == "Stopped"]
    assert told["involvedObject"]["name"] == "free"
    assert told["message"].startswith("It runs and can't be admitted: ")


async def test_a_job_that_runs_while_its_owner_waits_is_suspended_as_long_as_that_is() -> None:
    cluster, story = InProcess(manifests(), 1), Story()
    await cluster.create(NAMESPACES, "", {"metadata": {"name": "team"}})
    refused = [await running(cluster, name) for name in ("of-waiting", "of-running", "of-gone", "of-unknown")]
    for name, suspend in (("waiting", True), ("running", False)):
        await running(cluster, name)
        await cluster.merge(JOBS, "team", name, {"spec": {"suspend": suspend}})
    owners = ["Job/team/waiting", "Job/team/running", "Job/team/gone", "Sweep/team/unknown"]
    story.told(*platform(), *(replace(one, owner=owner) for one, owner in zip(refused, owners, strict=True)))
    clock = ScaledClock(100)
    applier = Applier(cluster, MemoryStream(FACTS), clock, "LOG_0", LowPriorityWrites(clock))
    task = asyncio.create_task(applier.run())
    applier.observe(story.world, [])
    for _ in range(5000):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [await is_suspended(cluster, one.name) for one in refused] == [True, False, False, False]
    (told,) = cluster.resources.store.of("events").values()
    assert (told["involvedObject"]["name"], told["type"]) == ("of-waiting", "Normal")
    assert (told["reason"], told["message"]) == ("Suspended", "Kueue managed child job suspended")


async def test_what_was_refused_is_looked_at_once_and_again_when_it_is_refused_for_something_else() -> None:
    cluster, story, clock = InProcess(manifests(), 1), Story(), ScaledClock(100)
    await cluster.create(NAMESPACES, "", {"metadata": {"name": "team"}})
    refused = [await running(cluster, name) for name in ("a", "b")]
    story.told(*platform(), *refused)
    applier = Applier(cluster, MemoryStream(FACTS), clock, "LOG_0", LowPriorityWrites(clock))
    applier.observe(story.world, [])
    assert [*story.world.refused_work.waiting("applier")] == []
    problem = ObjectProblem(field="spec.template", message="nobody knows what it means either")
    story.told(replace(refused[1], problems=(problem,)))
    assert [*story.world.refused_work.waiting("applier")] == ["Job/team/b"]
    applier.observe(story.world, [])
    story.told(ObjectMended(kind="Job", namespace="team", name="b"))
    assert [*story.world.refused_work.waiting("applier")] == []


async def running(cluster: InProcess, name: str) -> ObjectRefused:
    """A job that runs, and its refusal."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    value = {"metadata": {"name": name, "namespace": "team"}, "spec": {"suspend": False, "template": template}}
    made = await cluster.create(JOBS, "team", value)
    problem = ObjectProblem(field="metadata.labels", message="nobody knows what it means")
    uid = made["metadata"]["uid"]
    return ObjectRefused(kind="Job", namespace="team", name=name, uid=uid, running=1, problems=(problem,))


async def admitted(cluster: InProcess, job: ObjectRefused) -> None:
    """Have its Workload show that it holds quota."""
    name = workload_name(JOB.kind, JOB.group, job.name, job.uid)
    value = {
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"queueName": "lq", "podSets": [{"name": "main"}]},
    }
    await cluster.create(WORKLOADS, "team", value)
    time = "2026-01-01T00:00:00Z"
    held = {"type": "QuotaReserved", "status": "True", "reason": "x", "message": "", "lastTransitionTime": time}
    await cluster.merge(WORKLOADS, "team", name, {"status": {"conditions": [held]}}, subresource="status")


async def is_suspended(cluster: InProcess, name: str) -> bool:
    return bool((await cluster.get(JOBS, "team", name))["spec"]["suspend"])
