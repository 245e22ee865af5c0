"""`kuelog populator`: a local queue of one name in each namespace that a cluster queue selects."""

import asyncio
from typing import Annotated

import typer

from events.selector import LabelSelector
from ops.cli.failures import known_failures
from ops.cli.key_values import key_values
from ops.cli.serving.serve import until_stopped
from ops.production.kubernetes.client import connect
from ops.production.populator import Population, WantedQueue, keep_populated, populated, why_not
from ops.terminal.console import terminal
from ops.terminal.endings import complain
from services.runtime.cluster_port import ObjectMissing
from services.validation.fields.names import why_no_label_value, why_no_subdomain, why_not_qualified

console = terminal(soft_wrap=True)


def populator(
    local_queue_name: Annotated[str, typer.Option(help="What the local queues are called.")] = "default",
    namespace_selector: Annotated[
        str, typer.Option(help="KEY=VALUE[,KEY=VALUE]: labels of namespaces that may get one; all without it.")
    ] = "",
    once: Annotated[bool, typer.Option("--once", help="Make what is missing now, and end.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is missing now.")] = False,
    kubeconfig: Annotated[str, typer.Option(help="The cluster; KUBECONFIG else.")] = "",
    context: Annotated[str, typer.Option(help="The context of that kubeconfig.")] = "",
) -> None:
    """Make a LocalQueue of one name in each namespace that a ClusterQueue selects, until Ctrl-C or SIGTERM; it deletes none.

    Exit codes: 0 all of them are there, or it was stopped; 1 a namespace has one of another cluster queue; 2 a mistake.

    Example: kuelog populator --local-queue-name default --namespace-selector queues=yes
    """
    with known_failures() as outcome:
        population = Population(name=_name(local_queue_name), namespaces=_selector(namespace_selector))
        if once or dry_run:
            outcome.code = _once(population, (kubeconfig, context), dry_run=dry_run)
        else:
            asyncio.run(until_stopped(_kept(population, (kubeconfig, context))))
            outcome.code = 0
    raise typer.Exit(outcome.code)


def _once(population: Population, where: tuple[str, str], *, dry_run: bool) -> int:
    try:
        found = asyncio.run(_populated(population, where, writes=not dry_run))
    except ObjectMissing as problem:
        return complain(
            f"{problem}: the cluster needs the definitions of Kueue's kinds (docs/deploy.md), and its namespaces have to stay"
        )
    _print(found, dry_run=dry_run)
    return 1 if any(one.taken_by for one in found) else 0


async def _populated(population: Population, where: tuple[str, str], *, writes: bool) -> list[WantedQueue]:
    client = await connect(*where, service="populator")
    try:
        return await populated(client, population, writes=writes)
    finally:
        await client.close()


async def _kept(population: Population, where: tuple[str, str]) -> None:
    client = await connect(*where, service="populator")
    try:
        await keep_populated(client, population)
    finally:
        await client.close()


def _name(text: str) -> str:
    for problem in why_no_subdomain(text):
        raise typer.BadParameter(f"--local-queue-name: {text!r} is no name: {problem}")
    return text


def _selector(text: str) -> LabelSelector | None:
    labels = key_values("--namespace-selector", text, may_be_empty=True)
    for key, value in labels.items():
        # `==` and `!=` of kubectl would be read as part of a name, and choose no namespace at all.
        for problem in (*why_not_qualified(key), *why_no_label_value(value)):
            raise typer.BadParameter(f"--namespace-selector: '{key}={value}' is no label: {problem}")
    return LabelSelector(labels=labels) if labels else None


def _print(found: list[WantedQueue], *, dry_run: bool) -> None:
    for one in found:
        told = why_not(one) if one.taken_by else f"{'would be made' if dry_run else 'made'}, of {one.cluster_queue}"
        console.print(f"{one.namespace}/{one.name}: {told}", highlight=False, markup=False)
    if not found:
        console.print("nothing is missing", highlight=False)
