"""`kuelog list pods`: the pods of one job, whatever its kind, under kubectl's columns."""

from typing import Annotated

import typer

from events.api.labels import WORKLOAD as WORKLOAD_ANNOTATION
from events.json_object import JsonObject, objects_at
from ops.cli.kubectl.age import since
from ops.cli.kubectl.cluster_options import HERE, in_namespace
from ops.cli.kubectl.connection import (
    Everywhere,
    ObjectsOutput,
    OutputOption,
    refuse,
    with_cluster,
)
from ops.cli.kubectl.list_workloads import belongs_to
from ops.cli.kubectl.nouns import POD, WORKLOAD
from ops.cli.kubectl.rows import Fields, Labels, for_programs, key_of, now_ms, show_spaced, spec_field
from ops.cli.kubectl.where import Where, listed
from ops.production.kubernetes.client import KubeClient


@in_namespace
def list_pods(
    owner: Annotated[str, typer.Option("--for", help="The job whose pods are meant: TYPE[.API-GROUP]/NAME.")],
    labels: Labels = "",
    fields: Fields = "",
    everywhere: Everywhere = False,
    where: Where = HERE,
    output: OutputOption = ObjectsOutput.TABLE,
) -> None:
    """The pods of a job: those that it has made itself, and those that bear the name of its workload.

    Example: kuelog list pods --for job/train
    """
    if owner.count("/") != 1 or not all(owner.split("/")):
        raise refuse(f"--for {owner}: write TYPE[.API-GROUP]/NAME, such as job.batch/train")
    space = "" if everywhere else where.space()

    async def ask(client: KubeClient) -> list[JsonObject]:
        owned = await listed(client, WORKLOAD, space)
        names = {key_of(one, one["metadata"]["name"]) for one in owned if belongs_to(one, owner)}
        pods = await listed(client, POD, space, labels=labels, fields=fields)
        return [one for one in pods if _workload_of(one) in names or belongs_to(one, owner) or _is(one, owner)]

    found = with_cluster(where, ask)
    if for_programs(POD, found, output):
        return
    now = now_ms()
    headers = ("Name", "Ready", "Status", "Restarts", "Age", *(("Node",) if output is ObjectsOutput.WIDE else ()))
    rows = [
        (
            one["metadata"]["name"],
            _ready(one),
            _status(one),
            str(sum(int(each.get("restartCount") or 0) for each in objects_at(one, "status", "containerStatuses"))),
            since(one["metadata"].get("creationTimestamp"), now),
            *((spec_field(one, "nodeName"),) if output is ObjectsOutput.WIDE else ()),
        )
        for one in found
    ]
    show_spaced(headers, rows, found, space)


def _workload_of(pod: JsonObject) -> str:
    return key_of(pod, str((pod["metadata"].get("annotations") or {}).get(WORKLOAD_ANNOTATION, "")))


def _is(pod: JsonObject, wanted: str) -> bool:
    kind, _, name = wanted.partition("/")
    return kind.lower() in ("pod", "pods", "po") and pod["metadata"]["name"] == name


def _ready(pod: JsonObject) -> str:
    all_of_it = len(objects_at(pod, "spec", "containers"))
    return f"{sum(bool(one.get('ready')) for one in objects_at(pod, 'status', 'containerStatuses'))}/{all_of_it}"


def _status(pod: JsonObject) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    gated = bool(objects_at(pod, "spec", "schedulingGates"))
    status = pod.get("status") or {}
    return "SchedulingGated" if gated else str(status.get("reason") or status.get("phase") or "Unknown")
