"""`kuelog list workload`: the workloads of a namespace with their jobs and positions, under kueuectl's columns."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import typer

from events.event import Millis
from events.json_object import JsonObject
from events.timestamp import parse_timestamp
from ops.cli.kubectl.age import human, since
from ops.cli.kubectl.cluster_options import HERE, in_namespace
from ops.cli.kubectl.connection import (
    Everywhere,
    ObjectsOutput,
    OutputOption,
    refuse,
    with_cluster,
)
from ops.cli.kubectl.nouns import LOCAL_QUEUE, WORKLOAD
from ops.cli.kubectl.rows import (
    ClusterQueueFilter,
    Fields,
    Labels,
    LocalQueueFilter,
    condition,
    for_programs,
    is_true,
    key_of,
    now_ms,
    show_spaced,
    spec_field,
)
from ops.cli.kubectl.where import Where, listed
from ops.production.kubernetes.client import KubeClient
from ops.production.visibility.api import GROUP as VISIBILITY
from ops.production.visibility.api import MOST
from services.runtime.cluster_port import ClusterUnavailable, ObjectInvalid, ObjectMissing

_LONGEST_TYPE = 20


class StatusFilter(StrEnum):
    """Which workloads are shown."""

    ALL = "all"
    PENDING = "pending"
    QUOTA_RESERVED = "quotareserved"
    ADMITTED = "admitted"
    FINISHED = "finished"


@in_namespace
def list_workloads(
    cluster_queue: ClusterQueueFilter = "",
    local_queue: LocalQueueFilter = "",
    status: Annotated[list[StatusFilter] | None, typer.Option("--status", help="Only these; all by default.")] = None,
    owner: Annotated[str, typer.Option("--for", help="Only those of one job: TYPE[.API-GROUP]/NAME.")] = "",
    labels: Labels = "",
    fields: Fields = "",
    everywhere: Everywhere = False,
    where: Where = HERE,
    output: OutputOption = ObjectsOutput.TABLE,
) -> None:
    """The workloads of a namespace, each with its job and its position in the local queue.

    Example: kuelog list workload --status pending -q training
    """
    if owner and owner.count("/") != 1:
        raise refuse(f"--for {owner}: write TYPE[.API-GROUP]/NAME, such as job.batch/train")
    space = "" if everywhere else where.space()

    async def ask(client: KubeClient) -> tuple[list[JsonObject], dict[str, str], dict[str, int]]:
        found = await listed(client, WORKLOAD, space, labels=labels, fields=fields)
        local_queues = await listed(client, LOCAL_QUEUE, space)
        leads = {key_of(one, one["metadata"]["name"]): spec_field(one, "clusterQueue") for one in local_queues}
        wanted = set(status or ()) - {StatusFilter.ALL}
        found = [
            one
            for one in found
            if (not wanted or state(one) in wanted)
            and (not local_queue or spec_field(one, "queueName") == local_queue)
            and (not cluster_queue or _cluster_queue(one, leads) == cluster_queue)
            and (not owner or belongs_to(one, owner))
        ]
        if output in (ObjectsOutput.TABLE, ObjectsOutput.WIDE):
            pending = [one for one in found if state(one) is StatusFilter.PENDING]
            return found, leads, await _positions(client, pending)
        return found, leads, {}

    found, leads, places = with_cluster(where, ask)
    if for_programs(WORKLOAD, found, output):
        return
    now = now_ms()
    headers = (
        *("Name", "Job Type", "Job Name", "LocalQueue", "ClusterQueue"),
        *("Status", "Position in Queue", "Exec Time", "Age"),
    )
    rows = [
        (
            one["metadata"]["name"],
            ", ".join(sorted({_job_type(owner) for owner in _owners(one)})),
            ", ".join(sorted({owner.get("name", "") for owner in _owners(one)})),
            spec_field(one, "queueName"),
            _cluster_queue(one, leads),
            state(one).upper(),
            str(places.get(key_of(one, one["metadata"]["name"]), "")),
            _exec_time(one, now),
            since(one["metadata"].get("creationTimestamp"), now),
        )
        for one in found
    ]
    show_spaced(headers, rows, found, space)


def state(workload: JsonObject) -> StatusFilter:
    """How far a workload has come."""
    for kind, word in (
        ("Finished", StatusFilter.FINISHED),
        ("Admitted", StatusFilter.ADMITTED),
        ("QuotaReserved", StatusFilter.QUOTA_RESERVED),
    ):
        if is_true(workload, kind):
            return word
    return StatusFilter.PENDING


async def _positions(client: KubeClient, pending: Iterable[JsonObject]) -> dict[str, int]:
    """The position of each in its local queue; nothing where nobody serves that."""
    found: dict[str, int] = {}
    for local_queue in sorted({key_of(one, spec_field(one, "queueName")) for one in pending}):
        namespace, _, name = local_queue.partition("/")
        path = f"/apis/{VISIBILITY}/v1beta2/namespaces/{namespace}/localqueues/{name}/pendingworkloads?limit={MOST}"
        try:
            answer = await client.request("GET", path)
        except (ObjectMissing, ObjectInvalid, ClusterUnavailable):
            continue
        for one in answer.get("items") or ():
            found[key_of(one, one["metadata"]["name"])] = one["positionInLocalQueue"]
    return found


def _cluster_queue(workload: JsonObject, leads: dict[str, str]) -> str:
    admission = (workload.get("status") or {}).get("admission") or {}
    return str(admission.get("clusterQueue") or leads.get(key_of(workload, spec_field(workload, "queueName")), ""))


def _owners(value: JsonObject) -> list[JsonObject]:
    return value["metadata"].get("ownerReferences") or []


def _job_type(owner: JsonObject) -> str:
    group = owner.get("apiVersion", "").rpartition("/")[0]
    text = ".".join(part for part in (owner.get("kind", "").lower(), group) if part)
    return text if len(text) <= _LONGEST_TYPE else f"{text[:_LONGEST_TYPE]}..."


def belongs_to(value: JsonObject, wanted: str) -> bool:
    """Whether a job owns an object; its kind is named in the singular or the plural, with its group or without."""
    kind, _, name = wanted.partition("/")
    word, _, group = kind.lower().partition(".")
    return any(
        owner.get("name") == name
        and owner.get("kind", "").lower() in (word, word.removesuffix("s"))
        and group in ("", owner.get("apiVersion", "").rpartition("/")[0])
        for owner in _owners(value)
    )


def _exec_time(workload: JsonObject, now: Millis) -> str:
    if not is_true(workload, "Admitted"):
        return ""
    end = condition(workload, "Finished").get("lastTransitionTime") if is_true(workload, "Finished") else None
    began = condition(workload, "Admitted").get("lastTransitionTime")
    return human(((parse_timestamp(end) if end else now) - parse_timestamp(began)) // 1000) if began else ""
