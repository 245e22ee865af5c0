"""Every kind of job through its whole life, by HTTP, with the test in the place of the kind's controller."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from events.catalogue import Fact
from events.codec import decode_sighting
from events.job_kind import JobKind
from events.json_object import JsonObject
from events.json_path import look
from events.subjects import FACTS
from events.workload import PodsReady
from ops.production.kubernetes.client import KubeClient
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.pod_readers import pods_of
from services.jobs.kinds.table import TRAIN_JOB
from services.jobs.kinds.train_job import CHILD
from services.jobs.start_stop import holds_injection
from tests.stage.stage import CLUSTER_QUEUES, NODES, Stage
from tests.stories.job_samples import POD_SETS, SAMPLED, child, definition, ended_well, manifest, running, stopped

WORKLOAD = "kueue.x-k8s.io/workload"


class Play:
    """Jobs of one kind on a stage."""

    def __init__(self, stage: Stage, kind: JobKind) -> None:
        self.stage, self.kind, self.resource = stage, kind, resource_of(kind)
        self.key = f"{kind.plural}.{kind.group}"

    async def submit(self, name: str, *, spoil: bool = False, **how: Any) -> JsonObject:
        wanted = manifest(self.kind, name, **how)
        made = await self.stage.client.create(self.resource, "default", spoiled(wanted) if spoil else wanted)
        assert look(made, self.kind.suspend) is True, "it is created suspended"
        if self.kind.reader == "train job":
            await self.stage.add(child(made))
        return made

    def job(self, name: str) -> JsonObject:
        found = self.stage.get(self.key, "default", name)
        inner = self.stage.get("jobsets.jobset.x-k8s.io", "default", name) or None
        return {**found, CHILD: inner} if self.kind.reader == "train job" else found

    def workload(self, name: str) -> JsonObject:
        found = self.stage.of("workloads.kueue.x-k8s.io")
        return next((w for w in found if w["metadata"]["ownerReferences"][0]["name"] == name), {})

    def condition(self, name: str, kind: str) -> str:
        return str(look(self.workload(name), f"status.conditions[{kind}].status"))

    async def until(self, holds: Callable[[], bool]) -> None:
        await self.stage.until(holds)

    async def started(self, name: str) -> None:
        await self.until(lambda: look(self.job(name), self.kind.suspend) is False)

    def key_of(self, name: str) -> str:
        return f"default/{self.workload(name)['metadata']['name']}"

    async def heard(self, fact: Fact) -> None:
        """Wait until the log has been told."""
        stream = await self.stage.bus.stream(FACTS)
        async for batch in stream.follow(0):
            if any(decode_sighting(entry.data).fact == fact for entry in batch):
                return

    async def show(self, name: str, status: JsonObject) -> None:
        await self.stage.client.merge(self.resource, "default", name, status, subresource="status")

    async def delete(self, name: str) -> None:
        await self.stage.client.delete(self.resource, "default", name)

    def check_injected(self, name: str) -> None:
        """Every pod set has the flavor's selector and toleration, and who asked for a card is kept to it."""
        job, text = self.job(name), str(self.job(name)["spec"])
        pods = pods_of(self.kind, job)
        assert text.count("'zone': 'a'") == len(pods)
        assert text.count("'nvidia.com/gpu', 'operator': 'Exists'") == len(pods)
        assert text.count(f"'{WORKLOAD}'") == len(pods)
        assert text.count("'kueue.x-k8s.io/podset'") == len(pods)
        assert text.count("'nvidia.com/use-gpuuuid'") == 1
        assert holds_injection(self.kind, job)


@pytest.mark.any_cluster
@pytest.mark.parametrize("kind", SAMPLED, ids=lambda kind: kind.kind)
async def test_a_job_of_every_kind_waits_runs_makes_room_comes_back_and_ends(kind: JobKind, stage: Stage) -> None:
    await prepare(stage, kind)
    stage.serve()
    await asyncio.wait_for(life(Play(stage, kind)), 60)


async def prepare(stage: Stage, *kinds: JobKind) -> None:
    await make_room(stage.client, stage.get("clusterqueues.kueue.x-k8s.io", "", "team"))
    for one in {"jobsets": SAMPLED[0], **{one.plural: one for one in kinds}}.values():
        await stage.add(definition(one))


async def make_room(client: KubeClient, queue: JsonObject) -> None:
    """Quota for what the samples ask for besides cards, and a node that they choose."""
    group = queue["spec"]["resourceGroups"][0]
    (flavor,) = group["flavors"]
    plain = [{"name": one, "nominalQuota": "100Gi"} for one in ("cpu", "memory")]
    wider = {"coveredResources": [*group["coveredResources"], "cpu", "memory"]}
    wider["flavors"] = [{**flavor, "resources": [*flavor["resources"], *plain]}]
    await client.merge(CLUSTER_QUEUES, "", "team", {"spec": {"resourceGroups": [wider]}})
    await client.merge(NODES, "", "n1", {"metadata": {"labels": {"own": "yes"}}})


async def life(play: Play) -> None:
    asked = (await play.submit("patient"))["spec"]
    await play.started("patient")
    play.check_injected("patient")
    assert [one["name"] for one in play.workload("patient")["spec"]["podSets"]] == POD_SETS[play.kind.kind]
    assert play.workload("patient")["metadata"]["ownerReferences"][0]["kind"] == play.kind.kind
    await play.show("patient", running(play.kind))
    await play.heard(PodsReady(workload=play.key_of("patient"), ready=True))

    await play.submit("urgent", urgent=True)
    if play.kind is TRAIN_JOB:  # Its trainer takes no other runtime patches while pods are active.
        await play.until(lambda: look(play.job("patient"), play.kind.suspend) is True)
        assert holds_injection(play.kind, play.job("patient"))
    else:
        await play.until(lambda: not holds_injection(play.kind, play.job("patient")))
    assert look(play.job("urgent"), play.kind.suspend) is True, "its pods are still there"
    await play.show("patient", stopped(play.kind))
    await play.until(lambda: not holds_injection(play.kind, play.job("patient")))
    assert play.job("patient")["spec"] == asked, "it is as it was submitted"
    await play.started("urgent")

    await play.show("urgent", running(play.kind))
    if play.kind.endings:
        await play.show("urgent", ended_well(play.kind))
        await play.until(lambda: play.condition("urgent", "Finished") == "True")
        assert look(play.workload("urgent"), "status.conditions[Finished].reason") == "Succeeded"
    else:
        await play.delete("urgent")
    await play.started("patient")
    play.check_injected("patient")

    await play.submit("late", queue="nowhere")
    await play.submit("broken", spoil=True)
    await play.until(lambda: told(play, "broken"))
    await play.delete("patient")
    label = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"}}}
    await play.stage.client.merge(play.resource, "default", "late", label)
    await play.started("late")


def spoiled(value: JsonObject) -> JsonObject:
    """Something about the pods that nobody can understand; a TrainJob has none of its own."""
    broken = {**value, "spec": _with_lots(value["spec"])}
    if broken == value:
        broken["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "long"
    return broken


def _with_lots(value: Any) -> Any:
    match value:
        case dict():
            return {name: "lots" if name == "nvidia.com/gpumem" else _with_lots(one) for name, one in value.items()}
        case list():
            return [_with_lots(one) for one in value]
        case _:
            return value


def told(play: Play, name: str) -> bool:
    events = play.stage.of("events")
    return any((one["involvedObject"]["name"], one["reason"]) == (name, "ErrWorkloadCompose") for one in events)
