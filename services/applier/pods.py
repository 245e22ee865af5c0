"""Pods that no job starts and stops: let through at the gate, or told to end and deleted."""

from typing import Any

from events.workload import Member, MemberState
from services.applier.manifests import DECISION
from services.applier.plan import Application
from services.cluster_port import ObjectConflict, ObjectMissing, Resource, Writer
from services.jobs import pods as rules
from services.jobs.paths import difference, put

PODS = Resource(plural="pods", kind="Pod")
_CONFLICTS = 5


async def steer_pods(writer: Writer, application: Application) -> None:
    """Bring each pod to run or to its end. Pods that wait are left alone, and so are those that are gone."""
    if not application.run and not application.stopping:
        return
    for member in application.members:
        try:
            await _steer(writer, application, member)
        except ObjectMissing:
            continue  # Whoever deleted it wants what we want, or a new pod comes and is told of.


async def _steer(writer: Writer, application: Application, member: Member) -> None:
    for _ in range(_CONFLICTS):
        pod = await writer.get(PODS, application.namespace, member.name)
        if pod["metadata"].get("uid") != member.uid:
            return
        try:
            if application.run:
                await _let_through(writer, application, member, pod)
            else:
                await _end(writer, application, member, pod)
        except ObjectConflict:
            continue
        else:
            return
    raise ObjectConflict(f"pod {member.name} keeps changing")


async def _let_through(writer: Writer, application: Application, member: Member, pod: dict[str, Any]) -> None:
    injection = next((one for one in application.injections if one.original.name == member.pod_set), None)
    if injection is not None and rules.is_gated(pod):
        await _write(writer, application, pod, rules.let_through(pod, injection))


async def _end(writer: Writer, application: Application, member: Member, pod: dict[str, Any]) -> None:
    if rules.is_leaving(pod) and rules.without_hold(pod) == pod:
        return
    marked = put(pod, ("metadata", "annotations", DECISION), application.decision)
    if member.state is MemberState.OVER:
        await _write(writer, application, pod, marked)
        return
    name = pod["metadata"]["name"]
    await _write(writer, application, pod, rules.without_hold(marked))
    reason, message = application.why
    status = {"status": {"conditions": rules.told_to_end(pod, reason, message)}}
    await writer.merge(PODS, application.namespace, name, status, subresource="status")
    if not rules.is_leaving(pod):
        await writer.delete(PODS, application.namespace, name)


async def _write(writer: Writer, application: Application, pod: dict[str, Any], wanted: dict[str, Any]) -> None:
    patch = difference(pod, wanted)
    if patch:
        meta = {**patch.get("metadata", {}), "resourceVersion": pod["metadata"]["resourceVersion"]}
        await writer.merge(PODS, application.namespace, pod["metadata"]["name"], {**patch, "metadata": meta})
