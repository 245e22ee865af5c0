"""`kuelog create`: queues and flavors from flags, as kueuectl makes them."""

from collections.abc import Sequence
from typing import Annotated

import typer

from events.json_object import JsonObject
from ops.cli.kubectl.cluster_names import cluster_queues
from ops.cli.kubectl.cluster_options import HERE, in_cluster, in_namespace
from ops.cli.kubectl.connection import (
    DryRun,
    DryRunOption,
    ObjectsOutput,
    OutputOption,
    created,
    refuse,
    say,
    with_cluster,
)
from ops.cli.kubectl.nouns import CLUSTER_QUEUE, GROUP, LOCAL_QUEUE, RESOURCE_FLAVOR, VERSION, Noun, named_by
from ops.cli.kubectl.where import Where
from ops.production.kubernetes.client import KubeClient
from services.runtime.cluster_port import ObjectMissing

Name = Annotated[str, typer.Argument(help="Its name.")]
_QUOTAS = "FLAVOR:RESOURCE=QUANTITY;RESOURCE=QUANTITY,FLAVOR:..."
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

app = typer.Typer(help="Create queues and flavors, as kueuectl does.", no_args_is_help=True)


@in_cluster
def create_cluster_queue(
    name: Name,
    cohort: Annotated[str, typer.Option(help="The cohort that it lends to and borrows from.")] = "",
    strategy: Annotated[
        str, typer.Option("--queuing-strategy", help="StrictFIFO or BestEffortFIFO.")
    ] = "BestEffortFIFO",
    selector: Annotated[
        list[str] | None,
        typer.Option("--namespace-selector", help="Labels of its namespaces: KEY=VALUE,... All when there are none."),
    ] = None,
    reclaim: Annotated[str, typer.Option("--reclaim-within-cohort", help="Never, LowerPriority or Any.")] = "Never",
    within: Annotated[
        str,
        typer.Option("--preemption-within-cluster-queue", help="Never, LowerPriority or LowerOrNewerEqualPriority."),
    ] = "Never",
    nominal: Annotated[list[str] | None, typer.Option("--nominal-quota", help=_QUOTAS)] = None,
    borrowing: Annotated[list[str] | None, typer.Option("--borrowing-limit", help=_QUOTAS)] = None,
    lending: Annotated[list[str] | None, typer.Option("--lending-limit", help=_QUOTAS)] = None,
    dry_run: DryRunOption = DryRun.NONE,
    output: OutputOption = ObjectsOutput.TABLE,
    where: Where = HERE,
) -> None:
    """A cluster queue.

    Example: kuelog create clusterqueue team-a --cohort all --nominal-quota "v100:nvidia.com/gpu=8;cpu=64"
    """
    spec: JsonObject = {
        "queueingStrategy": strategy,
        "namespaceSelector": {"matchLabels": labels} if (labels := pairs(selector)) else {},
        "preemption": {"reclaimWithinCohort": reclaim, "withinClusterQueue": within},
        "resourceGroups": resource_groups(nominal, borrowing, lending),
    }
    if cohort:
        spec["cohortName"] = cohort
    _create(CLUSTER_QUEUE, where, "", name, spec, dry_run, output)


@in_namespace
def create_local_queue(
    name: Name,
    cluster_queue: Annotated[
        str, typer.Option("-c", "--clusterqueue", help="Where it leads to.", autocompletion=cluster_queues)
    ],
    unknown: Annotated[
        bool, typer.Option("-i", "--ignore-unknown-cq", help="Also when that cluster queue is not there.")
    ] = False,
    where: Where = HERE,
    dry_run: DryRunOption = DryRun.NONE,
    output: OutputOption = ObjectsOutput.TABLE,
) -> None:
    """A local queue.

    Example: kuelog create localqueue training -c team-a -n team-a
    """
    if not unknown:

        async def look(client: KubeClient) -> bool:
            try:
                await client.get(CLUSTER_QUEUE.resource, "", cluster_queue)
            except ObjectMissing:
                return False
            return True

        if not with_cluster(where, look):
            raise refuse(f"there is no ClusterQueue {cluster_queue}; -i creates the local queue all the same")
    _create(LOCAL_QUEUE, where, where.space(), name, {"clusterQueue": cluster_queue}, dry_run, output)


@in_cluster
def create_flavor(
    name: Name,
    labels: Annotated[
        list[str] | None, typer.Option("--node-labels", help="Labels of its nodes: KEY=VALUE,...")
    ] = None,
    node_taints: Annotated[
        list[str] | None, typer.Option("--node-taints", help="Taints of its nodes: KEY=VALUE:EFFECT,...")
    ] = None,
    tolerations: Annotated[
        list[str] | None, typer.Option("--tolerations", help="What its pods tolerate: KEY[=VALUE][:EFFECT],...")
    ] = None,
    dry_run: DryRunOption = DryRun.NONE,
    output: OutputOption = ObjectsOutput.TABLE,
    where: Where = HERE,
) -> None:
    """A resource flavor.

    Example: kuelog create resourceflavor v100 --node-labels gpu=v100 --tolerations nvidia.com/gpu:NoSchedule
    """
    spec: JsonObject = {
        "nodeLabels": pairs(labels),
        "nodeTaints": [_taint(one) for one in _parts(node_taints)],
        "tolerations": [_toleration(one) for one in _parts(tolerations)],
    }
    _create(RESOURCE_FLAVOR, where, "", name, {key: one for key, one in spec.items() if one}, dry_run, output)


def resource_groups(
    nominal: Sequence[str] | None, borrowing: Sequence[str] | None, lending: Sequence[str] | None
) -> list[JsonObject]:
    """One group for all flavors that offer the same resources."""
    limits = {"borrowingLimit": _quotas(borrowing), "lendingLimit": _quotas(lending)}
    owned = _quotas(nominal)
    for field, found in limits.items():
        for flavor, resources in found.items():
            for resource in resources:
                if resource not in owned.get(flavor, {}):
                    raise refuse(f"{field} of {flavor}:{resource} without a nominal quota of it")
    groups: dict[tuple[str, ...], list[JsonObject]] = {}
    for flavor, resources in owned.items():
        quotas = [
            {"name": resource, "nominalQuota": amount}
            | {field: found[flavor][resource] for field, found in limits.items() if resource in found.get(flavor, {})}
            for resource, amount in sorted(resources.items())
        ]
        groups.setdefault(tuple(sorted(resources)), []).append({"name": flavor, "resources": quotas})
    return [{"coveredResources": list(covered), "flavors": flavors} for covered, flavors in groups.items()]


def pairs(texts: Sequence[str] | None) -> dict[str, str]:
    """What is written as KEY=VALUE,KEY=VALUE."""
    found: dict[str, str] = {}
    for part in _parts(texts):
        key, equal, value = part.partition("=")
        if not key or not equal:
            raise refuse(f"{part}: write KEY=VALUE")
        found[key] = value
    return found


def _quotas(texts: Sequence[str] | None) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for part in _parts(texts):
        flavor, colon, rest = part.partition(":")
        resources = [one.partition("=") for one in rest.split(";") if one]
        if not flavor or not colon or not resources or not all(key and value for key, _, value in resources):
            raise refuse(f"{part}: write {_QUOTAS}")
        for key, _, value in resources:
            if key in found.setdefault(flavor, {}):
                raise refuse(f"{part}: {key} of {flavor} is given twice")
            found[flavor][key] = value
    return found


def _taint(text: str) -> JsonObject:
    found, _, effect = text.rpartition(":")
    key, _, value = found.partition("=")
    if not key or effect not in EFFECTS:
        raise refuse(f"{text}: write KEY=VALUE:EFFECT, with an effect of {', '.join(EFFECTS)}")
    return {"key": key, "value": value, "effect": effect}


def _toleration(text: str) -> JsonObject:
    found, _, effect = text.rpartition(":") if text.rpartition(":")[2] in EFFECTS else (text, "", "")
    key, equal, value = found.partition("=")
    if ":" in found:
        raise refuse(f"{text}: write KEY[=VALUE][:EFFECT], with an effect of {', '.join(EFFECTS)}")
    toleration: JsonObject = {"key": key, "operator": "Equal", "value": value} if equal else {"operator": "Exists"}
    if key and not equal:
        toleration["key"] = key
    return {**toleration, **({"effect": effect} if effect else {})}


def _parts(texts: Sequence[str] | None) -> list[str]:
    return [part.strip() for text in texts or () for part in text.split(",") if part.strip()]


def _create(
    noun: Noun, where: Where, namespace: str, name: str, spec: JsonObject, dry_run: DryRun, output: ObjectsOutput
) -> None:
    meta: JsonObject = {"name": name, "namespace": namespace} if namespace else {"name": name}
    value: JsonObject = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": noun.resource.kind,
        "metadata": meta,
        "spec": spec,
    }
    if dry_run is DryRun.CLIENT:
        say(noun, value, "created", output, dry_run)
        return
    made = with_cluster(where, lambda client: created(client, noun, namespace, value, dry_run))
    say(noun, made, "created", output, dry_run)


for _noun, _command in (
    (CLUSTER_QUEUE, create_cluster_queue),
    (LOCAL_QUEUE, create_local_queue),
    (RESOURCE_FLAVOR, create_flavor),
):
    named_by(app, _noun, _command)
