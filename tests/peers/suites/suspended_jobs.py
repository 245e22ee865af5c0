"""What controllers of jobs show of one that was stopped (a condition or a state), where the suite runs none of them.

kuelog waits for it before it gives back the quota of a job that was stopped; Kueue's own looks at the pods that are said to be active.
"""

import asyncio
import time
from contextlib import suppress

from events.job_kind import JobKind, Sign
from events.json_object import JsonObject
from events.json_path import look
from events.timestamp import format_timestamp
from ops.production.kubernetes.client import KubeClient
from ops.production.kubernetes.reflector import Reflector
from services.jobs.job_status import is_suspended
from services.jobs.kinds.managed_kinds import resource_of
from services.jobs.kinds.table import KINDS
from services.runtime.cluster_port import Listed, ObjectConflict, ObjectMissing, Vanished
from tests.stage.without_jobs import with_conditions, write_status

_CONDITION = "status.conditions[Suspended].status"


async def show_suspended(client: KubeClient, frameworks: list[str]) -> None:
    """Play them for all kinds that are managed, until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        for kind in KINDS:
            if kind.stopped is not None and (not frameworks or kind.name in frameworks):
                tasks.create_task(_follow(client, kind, kind.stopped))


async def _follow(client: KubeClient, kind: JobKind, sign: Sign) -> None:
    resource, ran = resource_of(kind), set[str]()
    shown = _condition if sign.at == _CONDITION else _state
    async for sight in Reflector(client).watch(resource):
        if isinstance(sight, Vanished):
            continue
        for job in sight.objects if isinstance(sight, Listed) else [sight.object]:
            uid, suspended = job["metadata"]["uid"], is_suspended(kind, job)
            if not suspended:
                ran.add(uid)
            # Of one that waits from the beginning nothing is shown: specs write it without looking whether somebody else has.
            if uid in ran and (status := shown(job, sign, suspended)):
                with suppress(ObjectConflict, ObjectMissing):  # What it is by then is seen next.
                    await write_status(client, resource, job, status)


def _state(job: JsonObject, sign: Sign, suspended: bool) -> JsonObject:  # noqa: FBT001 - as the one below
    """Its state, which is another one as soon as it is suspended no more."""
    if (look(job, sign.at) == sign.values[0]) is suspended:
        return {}
    found: JsonObject = sign.values[0] if suspended else None  # type: ignore[assignment]
    for name in reversed(sign.at.split(".")[1:]):
        found = {name: found}
    return found


def _condition(job: JsonObject, sign: Sign, suspended: bool) -> JsonObject:  # noqa: FBT001 - as the one above
    """The conditions, with that it is suspended, or that it is not where that stands there already."""
    shown, status = look(job, sign.at), "True" if suspended else "False"
    if shown == status or (shown is None and not suspended):
        return {}
    reason = "JobSuspended" if suspended else "JobResumed"
    condition = {
        "type": "Suspended",
        "status": status,
        "reason": reason,
        "message": reason,
        "lastTransitionTime": format_timestamp(round(time.time() * 1000)),
    }
    return {"conditions": with_conditions(job, [condition])}
