"""Playing a scenario: nodes are added, manifests applied when their time comes, until every job has come to its end."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from events.api.labels import RUN_SECONDS
from events.event import Millis
from ops.files.manifests import Document, read_manifests
from ops.sandbox.embedded_cluster.failures import ApiFailure
from ops.sandbox.embedded_cluster.nodes.fault_injection import remove_node, set_card_health, set_node_ready
from ops.sandbox.embedded_cluster.store import Store
from ops.sandbox.scenario.agreement import agreement
from ops.sandbox.scenario.left_out import placed
from ops.sandbox.scenario.needs import Needs
from ops.sandbox.scenario.node_pools import add_nodes
from ops.sandbox.scenario.platform import ScenarioPlatform
from ops.sandbox.scenario.script import Need, ScenarioBroken, ScenarioStep, Script
from ops.sandbox.scenario.worker_clusters import WorkerPlatform
from projections.unsupported import NOT_DONE
from services.runtime.cluster_port import ObjectConflict, ObjectInvalid, ObjectMissing, Resource

PrintLine = Callable[[str], None]

_LOOK_S = 0.1
_GLANCE_MS: Millis = 1000
_OVER = frozenset(
    {"ExceedsCardCapacity", "ExceedsMaxQuota", "NoMatchingFlavor", "Misconfigured", "Suspended", *NOT_DONE}
)
"""Refusals that no passing of time will change."""


class ManifestRefused(Exception):
    """The API did not take a manifest."""

    def __init__(self, document: Document, problem: str) -> None:
        super().__init__(f"{document.place}: {document.label}: {problem}")


class ScenarioStuck(Exception):
    """A step waits in vain."""

    def __init__(self, step: ScenarioStep, needs: Sequence[Need]) -> None:
        wanted = " and ".join(one.describe() for one in needs)
        super().__init__(f"the step at {step.at} s ({step.say}) waits in vain until {wanted}")


async def play(
    script: Script,
    folder: Path,
    on: ScenarioPlatform,
    *,
    loose: bool,
    print_line: PrintLine,
    workers: Mapping[str, WorkerPlatform] | None = None,
) -> list[bool]:
    """Play all steps, then wait until every workload has finished or can never run.

    Gives, where the script asks for it, whether log and cluster agreed before each step and at the end.
    """
    agreed: list[bool] = []
    workers = workers or {}
    add_nodes(on.cluster, script.nodes)
    documents = _documents(script, folder, loose=loose)
    for worker in script.workers:
        for document in _named(documents, worker.apply):
            await apply(workers[worker.name].on, document, script.run_seconds)
    begin, needs = on.clock.now(), Needs(on)
    for step in script.steps:
        await _time_has_come(on, begin + step.at * 1000)
        await _needs_are_met(on, needs, step, begin + script.at_most * 1000)
        if script.agree:
            agreed.append(await agreement(on))
        if step.say:
            print_line(f"{(on.clock.now() - begin) // 1000:>4} s  {step.say}")
        await _happen(script, on, workers, step, documents, loose=loose)
    end = begin + script.at_most * 1000
    while on.clock.now() < end:
        on.check()
        if await _settled(on) and not any(_is_held(one.on) for one in workers.values()):
            break
        await asyncio.sleep(_LOOK_S)
    if script.agree:
        agreed.append(await agreement(on))
    return agreed


async def _happen(
    script: Script,
    on: ScenarioPlatform,
    workers: Mapping[str, WorkerPlatform],
    step: ScenarioStep,
    documents: Sequence[Document],
    *,
    loose: bool,
) -> None:
    """What a step lets happen."""
    where = _where(on, workers, step)
    for document in _named(documents, step.apply):
        if loose:
            await _have_namespace(where, document)
        await apply(where, document, script.run_seconds)
    befall(where.cluster.store, step)
    await _cut_or_restore(workers, step)


def _where(on: ScenarioPlatform, workers: Mapping[str, WorkerPlatform], step: ScenarioStep) -> ScenarioPlatform:
    """The cluster in which a step happens. Raises `ScenarioBroken` for one that there is not."""
    return _worker(workers, step, step.cluster).on if step.cluster else on


def _worker(workers: Mapping[str, WorkerPlatform], step: ScenarioStep, name: str) -> WorkerPlatform:
    found = workers.get(name)
    if found is None:
        known = ", ".join(workers) or "none"
        raise ScenarioBroken(
            Path("scenario.yaml"), f"at {step.at} s: there is no worker cluster {name}; there are {known}"
        )
    return found


async def _cut_or_restore(workers: Mapping[str, WorkerPlatform], step: ScenarioStep) -> None:
    for one in step.lines:
        line = _worker(workers, step, one.cluster).line
        await (line.restore() if one.reached else line.cut())


def _named(documents: Sequence[Document], files: Sequence[str]) -> list[Document]:
    return [one for one in documents if Path(one.file).name in files]


def _documents(script: Script, folder: Path, *, loose: bool) -> list[Document]:
    """All objects that the script applies. Raises `ManifestBroken`."""
    names = dict.fromkeys(name for one in (*script.workers, *script.steps) for name in one.apply)
    found = read_manifests([folder / name for name in names], loose=loose)
    return placed(found) if loose else found


async def _time_has_come(on: ScenarioPlatform, at: Millis) -> None:
    while (left := at - on.clock.now()) > 0:
        await on.clock.sleep(min(left, _GLANCE_MS))
        on.check()


async def _needs_are_met(on: ScenarioPlatform, needs: Needs, step: ScenarioStep, end: Millis) -> None:
    """Wait for what a step needs. Raises `ScenarioStuck` when it does not come by the end of the scenario."""
    while left := await needs.unmet(step.after):
        if on.clock.now() >= end:
            raise ScenarioStuck(step, left)
        await asyncio.sleep(_LOOK_S)
        on.check()


def befall(store: Store, step: ScenarioStep) -> None:
    """What a step lets happen to cards and nodes. Raises `ScenarioBroken`."""
    try:
        for card in step.cards:
            set_card_health(store, card.node, card.card, healthy=card.healthy)
        for node in step.nodes:
            if node.ready is None:
                remove_node(store, node.node)
            else:
                set_node_ready(store, node.node, ready=node.ready)
    except ApiFailure as failure:
        raise ScenarioBroken(Path("scenario.yaml"), f"at {step.at} s: {failure}") from failure


async def _have_namespace(on: ScenarioPlatform, document: Document) -> None:
    """Create the namespace of an object, if nobody has: whoever wrote it has it."""
    name = (document.value.get("metadata") or {}).get("namespace")
    if name and on.cluster.store.get("namespaces", ("", name)) is None:
        value = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await apply(on, msgspec.structs.replace(document, value=value))


async def apply(on: ScenarioPlatform, document: Document, run_seconds: int = 0) -> None:
    """Create an object, or bring it to what the manifest says. Raises `ManifestRefused`."""
    value = document.value
    if run_seconds and value.get("kind") == "Job":
        value = _running(value, run_seconds)
    resource = _resource(on, value)
    if resource is None:
        raise ManifestRefused(document, f"the cluster knows no {value.get('kind')} of {value.get('apiVersion')}")
    meta = value.get("metadata") or {}
    namespace = meta.get("namespace") or ("default" if resource.namespaced else "")
    try:
        await on.client.create(resource, namespace, value)
    except ObjectConflict:
        await on.client.merge(resource, namespace, meta["name"], value)
    except (ObjectInvalid, ObjectMissing) as problem:
        raise ManifestRefused(document, str(problem)) from problem


def _resource(on: ScenarioPlatform, value: dict[str, Any]) -> Resource | None:
    group, _, version = str(value.get("apiVersion", "")).rpartition("/")
    for kind in on.cluster.resources.kinds():
        if (kind.group, kind.version, kind.kind) == (group, version, value.get("kind")):
            return Resource(
                group=group, version=version, plural=kind.plural, kind=kind.kind, namespaced=kind.namespaced
            )
    return None


def _running(job: dict[str, Any], seconds: int) -> dict[str, Any]:
    template = job["spec"]["template"]
    meta = template.get("metadata") or {}
    annotations = {RUN_SECONDS: str(seconds), **(meta.get("annotations") or {})}
    return {
        **job,
        "spec": {**job["spec"], "template": {**template, "metadata": {**meta, "annotations": annotations}}},
    }


def _is_held(on: ScenarioPlatform) -> bool:
    """Whether anything still holds quota or cards in a worker cluster."""
    worlds = [host.fold.world for host in on.running.hosts.values()]
    return any(
        world.cards.holdings or any(one.admission and not one.finished for one in world.workloads.values())
        for world in worlds
    )


async def _settled(on: ScenarioPlatform) -> bool:
    """Whether every job has ended, or is refused for good, and every card is given back."""
    quiet = asyncio.create_task(on.running.quiet())
    await asyncio.wait({quiet, on.task}, return_when=asyncio.FIRST_COMPLETED)
    quiet.cancel()
    on.check()
    if not on.running.hosts:
        return False  # The services have not even begun.
    for host in on.running.hosts.values():
        world = host.fold.world
        jobs = len(on.cluster.store.of("jobs.batch"))
        if len(world.workloads) + len(world.refused) < jobs:
            return False
        for workload in world.workloads.values():
            attempt = workload.attempt
            refused = attempt is not None and getattr(attempt, "reason", "") in _OVER
            parked = world.lines.of(workload.line).parked_as(workload.key) in _OVER
            if not workload.finished and not refused and not parked:
                return False
            if workload.finished and not workload.finish_shown:
                return False
        if world.cards.holdings:
            return False
    return True
