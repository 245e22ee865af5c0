"""Fields that may not change: what the API server refuses for built-in kinds."""

from typing import Any

from ops.cluster.failures import invalid
from ops.cluster.kinds import Kind

_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates", "affinity")


def refuse_immutable(kind: Kind, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Raise 422 for a change that the kind does not allow."""
    if kind.key == "jobs.batch":
        _job(before, after)


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
    waiting = old.get("suspend") and not status.get("startTime")
    if not waiting or _fixed(old["template"]) != _fixed(new["template"]):
        raise invalid(
            "Job",
            name,
            [
                (
                    "spec.template",
                    "field is immutable, but for scheduling directives of a suspended job that has not started",
                )
            ],
        )


def _ended(name: str, status: dict[str, Any]) -> None:
    over = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"} & {"Complete", "Failed"}
    if over and not status.get("startTime"):
        raise invalid("Job", name, [("status.startTime", "Required value: startTime is required for finished job")])


def _fixed(template: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (template.get("spec") or {}).items() if name not in _SCHEDULING}
