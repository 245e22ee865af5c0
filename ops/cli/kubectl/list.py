"""`kuelog list`: queues, workloads, flavors and pods with kueuectl's columns, filters and positions in the queue."""

from typing import Annotated

import typer

from events.json_object import JsonObject
from ops.cli.kubectl.age import since
from ops.cli.kubectl.cluster_options import HERE, in_cluster, in_namespace
from ops.cli.kubectl.connection import (
    Everywhere,
    ObjectsOutput,
    OutputOption,
    show_table,
    with_cluster,
)
from ops.cli.kubectl.list_pods import list_pods
from ops.cli.kubectl.list_workloads import list_workloads
from ops.cli.kubectl.nouns import CLUSTER_QUEUE, LOCAL_QUEUE, POD, RESOURCE_FLAVOR, WORKLOAD, named_by
from ops.cli.kubectl.rows import (
    ClusterQueueFilter,
    Fields,
    Labels,
    for_programs,
    is_true,
    now_ms,
    show_spaced,
    spec_field,
)
from ops.cli.kubectl.where import Where, listed

app = typer.Typer(help="List queues, workloads, flavors and the pods of a job, as kueuectl does.", no_args_is_help=True)


@in_cluster
def list_cluster_queues(
    active: Annotated[list[bool] | None, typer.Option("--active", help="Only active ones, or only others.")] = None,
    labels: Labels = "",
    fields: Fields = "",
    output: OutputOption = ObjectsOutput.TABLE,
    where: Where = HERE,
) -> None:
    """All cluster queues.

    Example: kuelog list clusterqueue --active true
    """
    found = with_cluster(where, lambda client: listed(client, CLUSTER_QUEUE, "", labels=labels, fields=fields))
    found = [one for one in found if not active or is_true(one, "Active") in active]
    if for_programs(CLUSTER_QUEUE, found, output):
        return
    headers = ("Name", "Cohort", "Pending Workloads", "Admitted Workloads", "Active", "Age")
    now = now_ms()
    rows = [
        (
            one["metadata"]["name"],
            spec_field(one, "cohortName"),
            _count(one, "pendingWorkloads"),
            _count(one, "admittedWorkloads"),
            str(is_true(one, "Active")).lower(),
            since(one["metadata"].get("creationTimestamp"), now),
        )
        for one in found
    ]
    show_table(headers, rows, empty="No resources found")


@in_namespace
def list_local_queues(
    cluster_queue: ClusterQueueFilter = "",
    labels: Labels = "",
    fields: Fields = "",
    everywhere: Everywhere = False,
    where: Where = HERE,
    output: OutputOption = ObjectsOutput.TABLE,
) -> None:
    """The local queues of a namespace.

    Example: kuelog list localqueue -A -c team-a
    """
    space = "" if everywhere else where.space()
    found = with_cluster(where, lambda client: listed(client, LOCAL_QUEUE, space, labels=labels, fields=fields))
    found = [one for one in found if not cluster_queue or spec_field(one, "clusterQueue") == cluster_queue]
    if for_programs(LOCAL_QUEUE, found, output):
        return
    headers = ("Name", "ClusterQueue", "Pending Workloads", "Admitted Workloads", "Age")
    now = now_ms()
    rows = [
        (
            one["metadata"]["name"],
            spec_field(one, "clusterQueue"),
            _count(one, "pendingWorkloads"),
            _count(one, "admittedWorkloads"),
            since(one["metadata"].get("creationTimestamp"), now),
        )
        for one in found
    ]
    show_spaced(headers, rows, found, space)


@in_cluster
def list_flavors(
    labels: Labels = "",
    fields: Fields = "",
    output: OutputOption = ObjectsOutput.TABLE,
    where: Where = HERE,
) -> None:
    """All resource flavors.

    Example: kuelog list resourceflavor
    """
    found = with_cluster(where, lambda client: listed(client, RESOURCE_FLAVOR, "", labels=labels, fields=fields))
    if for_programs(RESOURCE_FLAVOR, found, output):
        return
    now = now_ms()
    rows = [
        (
            one["metadata"]["name"],
            ", ".join(
                f"{key}={value}" for key, value in sorted(((one.get("spec") or {}).get("nodeLabels") or {}).items())
            ),
            since(one["metadata"].get("creationTimestamp"), now),
        )
        for one in found
    ]
    show_table(("Name", "Node Labels", "Age"), rows, empty="No resources found")


def _count(value: JsonObject, field: str) -> str:
    return str((value.get("status") or {}).get(field, 0))


for _noun, _command in (
    (CLUSTER_QUEUE, list_cluster_queues),
    (LOCAL_QUEUE, list_local_queues),
    (WORKLOAD, list_workloads),
    (RESOURCE_FLAVOR, list_flavors),
    (POD, list_pods),
):
    named_by(app, _noun, _command)
