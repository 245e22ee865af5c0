"""Jobs that run on other clusters by the decisions of a log in four partitions, one of whose workers has a divided log as well."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from events.codec import decode_commit, decode_sighting
from events.multikueue import ClusterChosen, QuotaAutomationSettled, RemoteQueuesObserved, RemoteWorkloadObserved
from events.partition_map import TreePlacement
from events.settings import SettingsObserved
from events.subjects import FACTS, addressee
from ops.production.archive.history import History, read_everything
from ops.production.kubernetes.absent import AbsentCluster
from ops.production.kubernetes.remote import KubeConnector
from ops.production.log.partitioning import divide
from ops.production.log.streams import streams_in
from ops.production.served import MULTIKUEUE, SERVICES
from ops.production.wiring import Running
from ops.queries.audit.citations import citations_in, held_against
from ops.queries.explaining import world_at
from ops.queries.point import point_at
from ops.queries.replay import fold_partition
from projections.checks.quota_automation import GATE
from projections.world import World
from services.runtime.own_task import stopped
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.stage import JOBS, Stage
from tests.stories.test_multikueue import CONFIGS, SETTINGS, active, delegated, home_of, set_up
from tests.stories.test_partitions import ended, queue

DOORS = {"a": "default", "b": "default", "c": "red", "d": "blue"}
"""By queue the namespace in which it is asked: those of two partitions in one, the others in one of their own."""
KEYS = {"a": "LOG_0", "b": "LOG_1", "c": "LOG_2", "d": "LOG_3"}


def namespaced(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def doors(stage: Stage, *, checked: bool) -> None:
    """A local queue of each name: with a cluster queue of its own that leads to other clusters, or to that of the stage."""
    for name in sorted({*DOORS.values()} - {"default"}):
        await stage.add(namespaced(name))
    for name, namespace in DOORS.items():
        its, door = [dict[str, Any](one) for one in queue(name)]
        door["metadata"] = {**door["metadata"], "namespace": namespace}
        if checked:
            check = {"admissionChecksStrategy": {"admissionChecks": [{"name": "elsewhere"}]}}
            await stage.add({**its, "spec": {**its["spec"], **check}})
        else:
            door["spec"] = {"clusterQueue": "team"}
        await stage.add(door)


def sent(name: str, seconds: int) -> dict[str, Any]:
    found = delegated(f"job-{name}", seconds)
    labels = {**found["metadata"]["labels"], "kueue.x-k8s.io/queue-name": name}
    return {**found, "metadata": {**found["metadata"], "namespace": DOORS[name], "labels": labels}}


def ready(stage: Stage, name: str) -> bool:
    """Whether the pods of a job that was sent are ready."""
    return bool(stage.get("jobs.batch", DOORS[name], f"job-{name}").get("status", {}).get("ready"))


async def whole(stage: Stage) -> None:
    await doors(stage, checked=False)


async def halved(stage: Stage) -> None:
    """As `whole`, and what is decided there stands in its second partition."""
    await whole(stage)
    await divide(stage.bus, 2, stage.clock.now(), [TreePlacement(tree="queue/team", partition=1)])


@asynccontextmanager
async def divided(
    stage: Stage, folder: Path, settings: SettingsObserved = SETTINGS
) -> AsyncGenerator[list[KuelogWorker]]:
    """A manager of four partitions, two of them served by one process and two by another; in the end all is decided again."""
    workers = [KuelogWorker(name, folder, stage.clock, prepare=how) for name, how in (("w1", whole), ("w2", halved))]
    placements = [TreePlacement(tree=f"queue/{name}", partition=number) for number, name in enumerate(DOORS)]
    try:
        await divide(stage.bus, len(DOORS), stage.clock.now(), placements)
        await set_up(stage, workers)
        await doors(stage, checked=True)
        stage.serve(*(one for one in SERVICES if one != MULTIKUEUE), settings=settings)
        apart = replace(stage.ports, reader=AbsentCluster(), connector=KubeConnector(home_of(stage)))
        for half in (("LOG_0", "LOG_1"), ("LOG_2", "LOG_3")):
            running = Running(apart, (MULTIKUEUE,), replica=half[0], partitions=half)
            stage.tasks.append(asyncio.create_task(running.run()))
        await stage.until(lambda: all(active(stage, one.name)[:2] == ("True", "Active") for one in workers))
        yield workers
        for one in (stage, *(one.stage for one in workers)):
            entries = await read_everything(one.bus)
            for name in streams_in(entries).partitions:
                _, replayed = fold_partition(name, entries, verify=True)
                assert not replayed.is_wrong, f"every decision of {name}, decided again, is the same"
    finally:
        for task in stage.tasks:
            await stopped(task)
        for one in workers:
            await one.stop()


def once_nothing_is_there(entries: History) -> tuple[History, World] | None:
    """All that is stored and what it comes to, once it says that no copy is left anywhere."""
    world = world_at(point_at(entries))
    return None if world.remotes or world.left_behind else (entries, world)


async def test_jobs_of_every_partition_run_elsewhere_are_shown_here_and_leave_nothing_there(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, divided(stage, tmp_path) as workers:
        for name in DOORS:
            await stage.add(sent(name, 20))
        await stage.until(lambda: all(ended(stage, at, f"job-{name}") for name, at in DOORS.items()))
        for one in workers:
            await one.stage.until(lambda one=one: not one.copies and not one.jobs)
        entries, world = await stage.stored(once_nothing_is_there)
        chosen = {
            event.workload.partition("/")[2].removeprefix("job-job-")[0]: name
            for name in streams_in(entries).trees
            for entry in entries[name]
            for event in decode_commit(entry.data).events
            if isinstance(event, ClusterChosen)
        }
        assert chosen == KEYS, "each partition decides about its own"
        seen = [(addressee(one.subject), decode_sighting(one.data).fact) for one in entries[FACTS]]
        told = {(fact.workload.partition("/")[0], to) for to, fact in seen if isinstance(fact, RemoteWorkloadObserved)}
        assert {("red", "LOG_2"), ("blue", "LOG_3"), ("default", "")} == told, (
            "those of one partition alone to that one"
        )
        logs = {one.name: await read_everything(one.stage.bus) for one in workers}
        cited = citations_in(entries)
        assert {(one.cluster, one.commit.stream) for one in cited} == {("w1", "LOG_0"), ("w2", "LOG_1")}
        findings, said = held_against(cited, logs)
        assert not findings and len(said) == len(logs)
        assert len(world.dispatches) == len(DOORS), "who asks about the whole log sees the clusters of all"


async def test_quota_that_follows_workers_is_decided_in_the_partition_of_its_queue_and_told_to_all_by_one_process(
    tmp_path: Path,
) -> None:
    automated = replace(SETTINGS, gates={GATE: True})
    async with asyncio.timeout(150), Stage(tmp_path) as stage, divided(stage, tmp_path, automated) as workers:
        for name in DOORS:
            await stage.add(sent(name, 20))
        await stage.until(lambda: all(ended(stage, at, f"job-{name}") for name, at in DOORS.items()))
        await stage.client.merge(CONFIGS, "", "all", {"spec": {"quotaManagement": "Automated"}})
        await stage.until(lambda: all(gpus(stage, name) == 20 for name in DOORS))
        entries = await read_everything(stage.bus)
        settled = {
            (event.cluster_queue, name)
            for name in streams_in(entries).trees
            for entry in entries[name]
            for event in decode_commit(entry.data).events
            if isinstance(event, QuotaAutomationSettled) and event.nominal
        }
        assert settled == {*KEYS.items(), ("team", "LOG_0")}
        seen = [(addressee(one.subject), decode_sighting(one.data).fact) for one in entries[FACTS]]
        told = [(to, fact.cluster) for to, fact in seen if isinstance(fact, RemoteQueuesObserved)]
        assert sorted(told) == [("", one.name) for one in workers], "each cluster is told once, to all"


def gpus(stage: Stage, name: str) -> int:
    (group,) = stage.get("clusterqueues.kueue.x-k8s.io", "", name)["spec"]["resourceGroups"]
    return int(group["flavors"][0]["resources"][0]["nominalQuota"])


async def test_a_job_of_any_partition_that_is_deleted_here_is_gone_there(tmp_path: Path) -> None:
    async with asyncio.timeout(150), Stage(tmp_path) as stage, divided(stage, tmp_path) as workers:
        for name in ("b", "d"):
            await stage.add(sent(name, 36_000))
        for name in ("b", "d"):
            await stage.until(lambda name=name: ready(stage, name))
        assert sorted(len(one.jobs) for one in workers) == [1, 1]
        for name in ("b", "d"):
            await stage.client.delete(JOBS, DOORS[name], f"job-{name}")
        for one in workers:
            await one.stage.until(lambda one=one: not one.copies and not one.jobs)
