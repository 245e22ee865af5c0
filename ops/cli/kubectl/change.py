"""`kuelog stop`, `resume` and `delete`: what kueuectl does to queues, workloads and flavors that are there."""

from collections.abc import Callable
from typing import Annotated

import typer

from events.json_object import JsonObject
from ops.cli.kubectl.cluster_names import named
from ops.cli.kubectl.cluster_options import HERE, in_namespace
from ops.cli.kubectl.connection import (
    DryRun,
    DryRunOption,
    Everywhere,
    ObjectsOutput,
    OutputOption,
    changed,
    deleted,
    refuse,
    say,
    with_cluster,
)
from ops.cli.kubectl.nouns import CLUSTER_QUEUE, LOCAL_QUEUE, NOUNS, WORKLOAD, Noun, named_by
from ops.cli.kubectl.where import Where, listed
from ops.production.kubernetes.client import KubeClient
from services.runtime.cluster_port import ObjectMissing, Resource

Name = Annotated[str, typer.Argument(help="Its name.", autocompletion=named)]

stop_app = typer.Typer(help="Put queues and workloads on hold, as kueuectl does.", no_args_is_help=True)
resume_app = typer.Typer(help="Let queues and workloads go on, as kueuectl does.", no_args_is_help=True)
delete_app = typer.Typer(help="Delete queues, flavors and workloads, as kueuectl does.", no_args_is_help=True)


def stop_queue(noun: Noun) -> Callable[..., None]:
    """The command that stops queues of a kind."""

    @in_namespace
    def stop(
        name: Name,
        keep: Annotated[
            bool, typer.Option("--keep-already-running", help="Let what runs run on; it is put back in line else.")
        ] = False,
        where: Where = HERE,
        dry_run: DryRunOption = DryRun.NONE,
        output: OutputOption = ObjectsOutput.TABLE,
    ) -> None:
        _patch(noun, where, name, {"stopPolicy": "Hold" if keep else "HoldAndDrain"}, "stopped", dry_run, output)

    stop.__doc__ = f"Admit nothing more through a {noun.name}.\n\nExample: kuelog stop {noun.name} team-a"
    return stop


def steer(noun: Noun, spec: JsonObject, verb: str, doc: str) -> Callable[..., None]:
    """A command that sets one field of an object."""

    @in_namespace
    def command(
        name: Name,
        where: Where = HERE,
        dry_run: DryRunOption = DryRun.NONE,
        output: OutputOption = ObjectsOutput.TABLE,
    ) -> None:
        _patch(noun, where, name, spec, verb, dry_run, output)

    command.__doc__ = doc
    return command


def delete(noun: Noun) -> Callable[..., None]:
    """The command that deletes objects of a kind; of workloads it deletes the jobs, too."""

    @in_namespace
    def command(
        names: Annotated[list[str] | None, typer.Argument(help="Their names.", autocompletion=named)] = None,
        everything: Annotated[bool, typer.Option("--all", help="All of the namespace.")] = False,
        everywhere: Everywhere = False,
        yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask before jobs are deleted.")] = False,
        where: Where = HERE,
        dry_run: DryRunOption = DryRun.NONE,
        output: OutputOption = ObjectsOutput.TABLE,
    ) -> None:
        if bool(names) is everything:
            raise refuse(f"name what to delete, or say --all: kuelog delete {noun.name} NAME")
        if names and everywhere:
            raise refuse(f"no name is looked for in all namespaces: kuelog delete {noun.name} --all -A")
        space = where.space() if noun.resource.namespaced and not everywhere else ""

        async def look(client: KubeClient) -> list[JsonObject]:
            if everything:
                return await listed(client, noun, space)
            return [await client.get(noun.resource, space, name) for name in names or ()]

        found = with_cluster(where, look)
        if noun is WORKLOAD and not yes and dry_run is DryRun.NONE:
            _confirm(found)
        for value in found:
            with_cluster(where, lambda client, value=value: _delete(client, noun, value, dry_run))
            say(noun, value, "deleted", output, dry_run)

    command.__doc__ = f"Delete every {noun.name} that is named.\n\nExample: kuelog delete {noun.name} team-a"
    return command


def _patch(
    noun: Noun, where: Where, name: str, spec: JsonObject, verb: str, dry_run: DryRun, output: ObjectsOutput
) -> None:
    space = where.space() if noun.resource.namespaced else ""
    value = with_cluster(where, lambda client: changed(client, noun, space, name, {"spec": spec}, dry_run))
    say(noun, value, verb, output, dry_run)


def _confirm(workloads: list[JsonObject]) -> None:
    jobs = [
        f" - {owner['kind']} {owner['name']}, of workload {value['metadata']['name']} in namespace {value['metadata']['namespace']}"
        for value in workloads
        for owner in value["metadata"].get("ownerReferences") or ()
    ]
    if jobs:
        typer.echo("This deletes as well:\n" + "\n".join(jobs))
        if not typer.confirm("Go on?"):
            raise typer.Exit(0)


async def _delete(client: KubeClient, noun: Noun, value: JsonObject, dry_run: DryRun) -> None:
    """A workload goes with its job; without one it goes by itself."""
    if dry_run is DryRun.CLIENT:
        return
    space = value["metadata"].get("namespace") or ""
    owners: list[JsonObject] = value["metadata"].get("ownerReferences") or [] if noun is WORKLOAD else []
    for owner in owners:
        try:
            await deleted(client, await _resource_of(client, owner), space, owner["name"], dry_run)
        except ObjectMissing:
            continue
    try:
        await deleted(client, noun.resource, space, value["metadata"]["name"], dry_run)
    except ObjectMissing:
        if not owners:
            raise  # Else it has gone with its job.


async def _resource_of(client: KubeClient, owner: JsonObject) -> Resource:
    """Where objects of an owner's kind are; asked of the API server, since only it knows their plural."""
    group, _, version = owner["apiVersion"].rpartition("/")
    answer = await client.request("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
    for one in answer.get("resources") or ():
        if one["kind"] == owner["kind"] and "/" not in one["name"]:
            return Resource(
                group=group, version=version, plural=one["name"], kind=one["kind"], namespaced=one["namespaced"]
            )
    raise ObjectMissing(f"the server knows no {owner['kind']} in {owner['apiVersion']}")


for _queue in (CLUSTER_QUEUE, LOCAL_QUEUE):
    named_by(stop_app, _queue, stop_queue(_queue))
    _doc = f"Admit through a {_queue.name} again.\n\nExample: kuelog resume {_queue.name} team-a"
    named_by(resume_app, _queue, steer(_queue, {"stopPolicy": "None"}, "resumed", _doc))
_doc = "Stop a workload and try it no more until it is resumed.\n\nExample: kuelog stop workload job-train-1a2b3"
named_by(stop_app, WORKLOAD, steer(WORKLOAD, {"active": False}, "stopped", _doc))
_doc = "Put a workload back in line.\n\nExample: kuelog resume workload job-train-1a2b3"
named_by(resume_app, WORKLOAD, steer(WORKLOAD, {"active": True}, "resumed", _doc))
for _noun in NOUNS:
    named_by(delete_app, _noun, delete(_noun))
