"""How a command of kueuectl's kind reaches a cluster, whose namespace it means, and what it says when something fails."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Annotated, TypeVar

import msgspec
import typer
import yaml

from events.json_object import JsonObject
from ops.cli.kubectl.cluster_names import namespaces
from ops.cli.kubectl.nouns import Noun
from ops.cli.kubectl.where import Where, connected
from ops.production.kubernetes.client import KubeClient, KubeConfigMissing, path_of
from ops.terminal.endings import FAILED
from services.runtime.cluster_port import ClusterUnavailable, ObjectConflict, ObjectInvalid, ObjectMissing, Resource

T = TypeVar("T")
MERGE = "application/merge-patch+json"


class ObjectsOutput(StrEnum):
    """How objects are printed."""

    TABLE = ""
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    WIDE = "wide"


class DryRun(StrEnum):
    """Whether a change is only shown, only checked by the server, or made."""

    NONE = "none"
    CLIENT = "client"
    SERVER = "server"


Kubeconfig = Annotated[str, typer.Option("--kubeconfig", help="The kubeconfig; KUBECONFIG or ~/.kube/config else.")]
Context = Annotated[str, typer.Option("--context", help="The context of the kubeconfig.")]
Namespace = Annotated[
    str, typer.Option("-n", "--namespace", help="The namespace; the context's by default.", autocompletion=namespaces)
]
Everywhere = Annotated[bool, typer.Option("-A", "--all-namespaces", help="In all namespaces.")]
OutputOption = Annotated[
    ObjectsOutput, typer.Option("-o", "--output", help="json, yaml, name or wide; a table by default.")
]
DryRunOption = Annotated[DryRun, typer.Option("--dry-run", help="none, client (only show) or server (only check).")]


def with_cluster(where: Where, work: Callable[[KubeClient], Awaitable[T]]) -> T:
    """Run something against a cluster; a failure is printed in one line, and ends the command with 2."""
    try:
        return asyncio.run(connected(where, work))
    except (ObjectMissing, ObjectConflict, ObjectInvalid) as problem:
        message = f"Error from server: {problem}"
    except (ClusterUnavailable, KubeConfigMissing) as problem:
        message = f"error: {problem}"
    typer.echo(message, err=True)
    raise typer.Exit(FAILED)


def refuse(problem: str) -> typer.Exit:
    """Say what is wrong, and end with 2."""
    typer.echo(f"error: {problem}", err=True)
    return typer.Exit(FAILED)


async def changed(
    client: KubeClient, noun: Noun, namespace: str, name: str, patch: JsonObject, dry_run: DryRun
) -> JsonObject:
    """Merge a patch of fields that hold no objects, or only see what would come of it."""
    if dry_run is DryRun.CLIENT:
        found = await client.get(noun.resource, namespace, name)
        return {**found, **{part: {**(found.get(part) or {}), **fields} for part, fields in patch.items()}}
    return await client.request("PATCH", path_of(noun.resource, namespace, name) + _query(dry_run), patch, form=MERGE)


async def created(client: KubeClient, noun: Noun, namespace: str, value: JsonObject, dry_run: DryRun) -> JsonObject:
    """Create an object, or only see what would come of it."""
    if dry_run is DryRun.CLIENT:
        return value
    return await client.request("POST", path_of(noun.resource, namespace) + _query(dry_run), value)


async def deleted(client: KubeClient, resource: Resource, namespace: str, name: str, dry_run: DryRun) -> None:
    """Delete an object and what depends on it, or only see whether it could be."""
    await client.request(
        "DELETE", path_of(resource, namespace, name) + _query(dry_run), {"propagationPolicy": "Background"}
    )


def say(noun: Noun, value: JsonObject, verb: str, output: ObjectsOutput, dry_run: DryRun = DryRun.NONE) -> None:
    """Report what was done to an object, in the form that was asked for."""
    how = {DryRun.NONE: "", DryRun.CLIENT: " (dry run)", DryRun.SERVER: " (server dry run)"}[dry_run]
    if output in (ObjectsOutput.TABLE, ObjectsOutput.WIDE):
        typer.echo(f"{noun.full}/{value['metadata']['name']} {verb}{how}")
    else:
        show_object(noun, value, output)


def show_object(noun: Noun, value: JsonObject, output: ObjectsOutput) -> None:
    """Print one object as a program reads it."""
    match output:
        case ObjectsOutput.NAME:
            typer.echo(f"{noun.full}/{value['metadata']['name']}")
        case ObjectsOutput.YAML:
            typer.echo(yaml.safe_dump(_without_managers(value), sort_keys=True).rstrip())
        case _:
            typer.echo(_json(_without_managers(value)))


def show_list(noun: Noun, values: Sequence[JsonObject], output: ObjectsOutput) -> None:
    """Print many objects as a program reads them."""
    items = [_without_managers(one) for one in values]
    whole = {"apiVersion": noun.api_version, "kind": f"{noun.resource.kind}List"}
    match output:
        case ObjectsOutput.NAME:
            for one in values:
                typer.echo(f"{noun.full}/{one['metadata']['name']}")
        case ObjectsOutput.YAML:
            typer.echo(yaml.safe_dump({**whole, "metadata": {}, "items": items}, sort_keys=True).rstrip())
        case _:
            typer.echo(_json({**whole, "metadata": {}, "items": items}))


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Print rows below headers, three spaces between columns, as kubectl does."""
    if not rows:
        typer.echo(empty, err=True)
        return
    cells = [[one.upper() for one in headers], *rows]
    widths = [max(len(row[index]) for row in cells) for index in range(len(headers))]
    for row in cells:
        typer.echo("   ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _query(dry_run: DryRun) -> str:
    return "?dryRun=All" if dry_run is DryRun.SERVER else ""


def _json(value: JsonObject) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=4).decode()


def _without_managers(value: JsonObject) -> JsonObject:
    meta = {name: part for name, part in value["metadata"].items() if name != "managedFields"}
    return {**value, "metadata": meta}
