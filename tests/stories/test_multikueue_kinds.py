"""Every kind of job that runs on other clusters: what is made there, what comes back, and that nothing stays there.

kuelog decides in the worker, too; the test is in the place of the kind's controller there.

Rule: docs/rules/multikueue.md#kinds
"""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from events.job_kind import Ending, Factor, JobKind, PodsAt, Sign
from events.json_object import JsonObject
from events.json_path import look, put
from services.jobs.kinds.managed_by import MULTIKUEUE_MANAGER, managed_by_path
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.table import TRAIN_JOB
from services.jobs.kinds.training_runtime import RUNTIME
from tests.stage.kuelog_worker import KuelogWorker
from tests.stage.stage import Stage
from tests.stories.job_samples import SAMPLED, child, definition, ended_well, manifest, pod, running, training_runtime
from tests.stories.test_job_kinds import prepare
from tests.stories.test_multikueue import RULE, SETTINGS, check_of, managing

RENDER = JobKind(
    group="farm.example.com",
    versions=("v1",),
    kind="Render",
    plural="renders",
    pods=(PodsAt(count=(Factor(path="frames"),)),),
    endings=(Ending(sign=Sign(at="status.phase", values=("Done",)), succeeded=True),),
    stopped=Sign(at="status.phase", values=("Stopped",)),
    ready=Sign(at="status.phase", values=("Drawing",)),
)
"""A kind of somebody's own, named in `kuelog.jobKinds` and `multiKueue.externalFrameworks`."""
OWN = replace(
    SETTINGS, job_kinds=(RENDER,), multikueue=replace(RULE, external_frameworks=("Render.v1.farm.example.com",))
)
CONFIGURATION = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "multiKueue": {"externalFrameworks": [{"name": "Render.v1.farm.example.com"}]},
    "kuelog": {
        "jobKinds": [
            {
                "group": "farm.example.com",
                "version": "v1",
                "kind": "Render",
                "plural": "renders",
                "pods": [{"count": [{"path": "frames"}]}],
            }
        ]
    },
}
KINDS = [one for one in SAMPLED if managed_by_path(SETTINGS, one.group, one.kind)]
TRAINING_RUNTIME = JobKind(group=RUNTIME.group, versions=("v1alpha1",), kind=RUNTIME.kind, plural=RUNTIME.plural)


def asked_of(kind: JobKind) -> JsonObject:
    value = render() if kind is RENDER else manifest(kind, "patient")
    if kind is TRAIN_JOB:
        value = put(value, ("spec", "runtimeRef", "kind"), RUNTIME.kind)
    return put(value, tuple(managed_by_path(OWN, kind.group, kind.kind).split(".")), MULTIKUEUE_MANAGER)


def render() -> JsonObject:
    meta = {"name": "patient", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "team"}}
    spec = {"frames": 2, "suspend": True, "template": pod()}
    return {"apiVersion": "farm.example.com/v1", "kind": "Render", "metadata": meta, "spec": spec}


@pytest.mark.parametrize("kind", [*KINDS, RENDER], ids=lambda kind: kind.kind)
async def test_a_job_of_every_kind_runs_there_is_shown_here_and_leaves_nothing_there(
    kind: JobKind, tmp_path: Path
) -> None:
    async def prepared(stage: Stage) -> None:
        await prepare(stage, kind)

    async with asyncio.timeout(150), Stage(tmp_path) as stage:
        await prepared(stage)
        if kind is TRAIN_JOB:
            # What a trainer would make of it there is known from its runtime here.
            await stage.add(definition(TRAINING_RUNTIME))
            await stage.client.create(RUNTIME, "default", training_runtime("torch"))
        more = (kind,) if kind is RENDER else ()
        worker = KuelogWorker("w1", tmp_path, stage.clock, prepare=prepared, kinds=more)
        async with managing(stage, [worker], OWN, configuration=CONFIGURATION):
            await life(kind, stage, worker)


async def life(kind: JobKind, stage: Stage, worker: KuelogWorker) -> None:
    resource, key = resource_of(kind), f"{kind.plural}.{kind.group}"

    def there() -> JsonObject:
        return worker.stage.get(key, "default", "patient")

    def here() -> JsonObject:
        return stage.get(key, "default", "patient")

    await stage.client.create(resource, "default", asked_of(kind))
    if kind is TRAIN_JOB:
        await worker.stage.until(lambda: bool(there()))
        await worker.stage.add(child(there()))
    await stage.until(lambda: check_of(stage) == ("Ready", 'The workload was admitted on "w1"'))
    await worker.stage.until(lambda: look(there(), kind.suspend) is False)
    (copy,) = worker.copies
    labels = there()["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/prebuilt-workload-name"] == copy["metadata"]["name"]
    assert labels["kueue.x-k8s.io/multikueue-origin"] == "multikueue"
    assert look(there(), managed_by_path(OWN, kind.group, kind.kind)) is None
    assert "ownerReferences" not in there()["metadata"]

    await worker.stage.client.merge(resource, "default", "patient", running(kind), subresource="status")
    await stage.until(lambda: here().get("status") == running(kind)["status"])
    assert not stage.of("pods"), "no pod of it runs here"
    if kind.endings:
        over = ended_well(kind)
        await worker.stage.client.merge(resource, "default", "patient", over, subresource="status")
        (workload,) = stage.of("workloads.kueue.x-k8s.io")
        name = workload["metadata"]["name"]

        def finished() -> bool:
            found = stage.get("workloads.kueue.x-k8s.io", "default", name)
            return look(found, "status.conditions[Finished].status") == "True"

        await stage.until(finished)
    else:
        await stage.client.delete(resource, "default", "patient")
    await worker.stage.until(lambda: not worker.copies and not there())
