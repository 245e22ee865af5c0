"""Fields that may not change: what the API server refuses for built-in kinds."""

from typing import Any

from ops.sandbox.embedded_cluster.failures import invalid
from ops.sandbox.embedded_cluster.kinds import ApiKind

_ENDS = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}
"""What a Job has to say before it says that it has ended."""
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates", "affinity")


def refuse_immutable(kind: ApiKind, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Raise 422 for a change that the kind does not allow."""
    match kind.key:
        case "jobs.batch":
            _job(before, after)
        case "pods":
            _pod(before, after)
        case _:
            pass


def refuse_status(kind: ApiKind, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Raise 422 for a change of a status that the kind does not allow."""
    if kind.key != "jobs.batch":
        return
    status = after.get("status") or {}
    true = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"}
    for end, first in _ENDS.items():
        if end in true and first not in true:
            told = f"Invalid value: cannot set {end}=True condition without the {first}=true condition"
            raise invalid("Job", before["metadata"]["name"], [("status.conditions", told)])
    if before["spec"].get("suspend"):
        return
    started = (before.get("status") or {}).get("startTime")
    if started and started != status.get("startTime"):
        told = "Required value: startTime cannot be removed or changed for unsuspended job"
        raise invalid("Job", before["metadata"]["name"], [("status.startTime", told)])


def _job(before: dict[str, Any], after: dict[str, Any]) -> None:
    old, new = before["spec"], after["spec"]
    name = before["metadata"]["name"]
    for field in ("completions", "selector", "completionMode"):
        if old.get(field) != new.get(field) and not (field == "completions" and old.get("completionMode") == "Indexed"):
            raise invalid("Job", name, [(f"spec.{field}", "field is immutable")])
    _ended(name, after.get("status") or {})
    if old["template"] == new["template"]:
        return
    status = before.get("status") or {}
    waiting = old.get("suspend") and not status.get("startTime") and not status.get("active")
    if not waiting or _fixed(old["template"]) != _fixed(new["template"]):
        raise invalid(
            "Job",
            name,
            [
                (
                    "spec.template",
                    "field is immutable, but for scheduling directives of a suspended job that has not started and has no active pods",
                )
            ],
        )


def _ended(name: str, status: dict[str, Any]) -> None:
    over = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"} & {"Complete", "Failed"}
    if over and not status.get("startTime"):
        raise invalid("Job", name, [("status.startTime", "Required value: startTime is required for finished job")])


def _pod(before: dict[str, Any], after: dict[str, Any]) -> None:
    """A pod stays as it is, but for its gates, which may go, and until they have gone for where it may run."""
    old, new, name = before["spec"], after["spec"], before["metadata"]["name"]
    gates: list[Any] = old.get("schedulingGates") or []
    if any(one not in gates for one in new.get("schedulingGates") or ()):
        raise invalid("Pod", name, [("spec.schedulingGates", "Forbidden: only deletion is allowed")])
    if any(one not in (new.get("tolerations") or ()) for one in old.get("tolerations") or ()):
        raise invalid("Pod", name, [("spec.tolerations", "Forbidden: existing toleration can not be modified")])
    free = {"schedulingGates", "tolerations", "activeDeadlineSeconds", "terminationGracePeriodSeconds"}
    if gates:
        free |= {"nodeSelector", "affinity"}
        wanted: dict[str, str] = new.get("nodeSelector") or {}
        if not (old.get("nodeSelector") or {}).items() <= wanted.items():
            told = "Invalid value: only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            raise invalid("Pod", name, [("spec.nodeSelector", told)])
    if _without(old, free) != _without(new, free):
        told = "Forbidden: pod updates may not change fields other than images, tolerations, gates and what gates hold back"
        raise invalid("Pod", name, [("spec", told)])


def _without(spec: dict[str, Any], free: set[str]) -> dict[str, Any]:
    """A pod's specification without what may change."""
    found = {name: value for name, value in spec.items() if name not in free}
    for name in ("containers", "initContainers"):
        if found.get(name):
            found[name] = [{**one, "image": ""} for one in found[name]]
    return found


def _fixed(template: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (template.get("spec") or {}).items() if name not in _SCHEDULING}
