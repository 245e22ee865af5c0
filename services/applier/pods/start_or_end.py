"""Pods that no job starts and stops: their scheduling gate is removed, or they are marked as ending and deleted, or as failed."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from events.api.labels import DECISION, PRIORITY_CLASS, QUEUE_NAME
from events.event import Millis
from events.json_object import JsonObject, objects_at
from events.json_path import difference, put
from events.timestamp import format_timestamp
from events.workload import Member, MemberState
from services.applier.plan import Application
from services.jobs.kinds import pods as rules
from services.jobs.kinds.table import LEADER_WORKER_SET, STATEFUL_SET
from services.runtime.cluster_port import ObjectConflict, ObjectMissing, Resource, Writer

PODS = Resource(plural="pods", kind="Pod")
_CONFLICTS = 5


WithoutLostMark: TypeAlias = Callable[[Application, JsonObject], Awaitable[Application]]
"""What is applied to an object, when a mark on it that names a decision which the log has lost counts as another log's."""


async def start_or_end_pods(
    writer: Writer, application: Application, without_lost_mark: WithoutLostMark
) -> tuple[str, ...]:
    """Start or end each pod as decided; the UIDs of those that ran and have to end.

    Pods that wait are left alone, and so are those that have ended or are gone.
    """
    ended: list[str] = []
    if not (application.run or application.stopping or application.never_let_in):
        return ()
    for member in application.members:
        if application.run and member.name not in application.gate:
            continue
        if application.never_let_in and member.state is not MemberState.LIVE:
            continue
        try:
            if member.state is not MemberState.OVER and await _steer(writer, application, member, without_lost_mark):
                ended.append(member.uid)
        except ObjectMissing:
            continue  # It was deleted already; a new pod in its place will be reported by the watcher.
    return tuple(ended)


async def _steer(writer: Writer, application: Application, member: Member, without_lost_mark: WithoutLostMark) -> bool:
    for _ in range(_CONFLICTS):
        pod = await writer.get(PODS, application.namespace, member.name)
        if pod["metadata"].get("uid") != member.uid:
            return False
        try:
            if application.run:
                return await _let_through(writer, await without_lost_mark(application, pod), member, pod)
            return await _end(writer, application, pod)
        except ObjectConflict:
            continue
    raise ObjectConflict(f"pod {member.name} keeps changing")


async def _let_through(writer: Writer, application: Application, member: Member, pod: JsonObject) -> bool:
    injection = next((one for one in application.injections if one.original.name == member.pod_set), None)
    held_since = application.since(rules.annotations_of(pod).get(DECISION, ""))
    # Nothing is decided yet about what another manager has let in: a pod that takes a place in it is not held back.
    due = not held_since or held_since < application.sequence
    if injection is not None and rules.is_gated(pod) and due:
        own = application.pod_pins.get(member.uid, {})
        annotations = {**injection.annotations, **own}
        alone = msgspec.structs.replace(injection, annotations=annotations, gated=False)
        await _write(writer, application, pod, _in_its_group(application, member, rules.let_through(pod, alone)))
    return False


def _in_its_group(application: Application, member: Member, pod: JsonObject) -> JsonObject:
    """The pod of what serves with the names by which Kueue's manager finds its Workload; any other as it is."""
    if application.kind not in (LEADER_WORKER_SET, STATEFUL_SET):
        return pod
    spec, name = application.of.spec, application.workload.partition("/")[2]
    if application.kind is STATEFUL_SET:
        if not rules.waits_for_its_group(pod):
            # Its template names the group, and maybe a queue of before.
            return put(pod, ("metadata", "labels", QUEUE_NAME), spec.queue)
        if spec.workload_class is not None:
            pod = put(pod, ("metadata", "labels", PRIORITY_CLASS), spec.workload_class.name)
    total = sum(one.count for one in spec.pod_sets)
    return rules.in_its_group(pod, name, spec.queue, member.pod_set, total)


async def _end(writer: Writer, application: Application, pod: JsonObject) -> bool:
    """End a pod that runs. A gated pod stays gated, and is marked so that no older decision ungates it."""
    if rules.is_gated(pod):
        if application.stopping:
            marked = put(pod, ("metadata", "annotations", DECISION), application.decision)
            await _write(writer, application, pod, marked)
        return False
    if not rules.is_leaving(pod):
        await end_pods(writer, pod, *application.why)
    return True


async def end_pods(writer: Writer, pod: JsonObject, reason: str, message: str) -> None:
    """Mark a pod with the reason why it has to end (a condition), and delete it."""
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    # The whole list is written: what the kubelet has written since is not to be undone.
    version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
    status = {"metadata": version, "status": {"conditions": rules.told_to_end(pod, reason, message)}}
    await writer.merge(PODS, namespace, name, status, subresource="status")
    await writer.delete(PODS, namespace, name, uid=pod["metadata"].get("uid", ""))


def failed(pod: JsonObject, condition: str, reason: str, message: str, at: Millis) -> JsonObject:
    """The patch of its status by which it has failed, of that very version: the whole list of conditions is written."""
    mark = {"type": condition, "status": "True", "reason": reason, "message": message}
    kept = [one for one in objects_at(pod, "status", "conditions") if one.get("type") != condition]
    conditions = [*kept, {**mark, "lastTransitionTime": format_timestamp(at)}]
    version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
    return {"metadata": version, "status": {"phase": "Failed", "conditions": conditions}}


async def _write(writer: Writer, application: Application, pod: JsonObject, wanted: JsonObject) -> None:
    patch = difference(pod, wanted)
    if patch:
        meta = {**patch.get("metadata", {}), "resourceVersion": pod["metadata"]["resourceVersion"]}
        await writer.merge(PODS, application.namespace, pod["metadata"]["name"], {**patch, "metadata": meta})
