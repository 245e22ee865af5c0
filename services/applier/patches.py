"""The patches that bring a job and a Workload object to where a decision wants them; pure."""

from typing import Any

from services.applier.manifests import DECISION
from services.applier.plan import Application


def job_patch(job: dict[str, Any], application: Application) -> dict[str, Any] | None:
    """The merge patch that brings the job where the decision wants it; None when it is there."""
    meta, spec = job["metadata"], job["spec"]
    mark = (meta.get("annotations") or {}).get(DECISION, "")
    suspended = bool(spec.get("suspend"))
    if _sequence(mark, application.lane) > application.sequence:
        return None
    if application.run and not suspended:
        return None
    head = {"resourceVersion": meta["resourceVersion"], "annotations": {DECISION: application.decision}}
    if not application.run and suspended:
        # A job that is stopped already still has to say by which decision, so that its pods' end can be told.
        return {"metadata": head} if application.stopping and mark != application.decision else None
    patch: dict[str, Any] = {"metadata": head, "spec": {"suspend": not application.run}}
    if application.run:
        old = ((spec.get("template") or {}).get("spec") or {}).get("nodeSelector") or {}
        wanted = dict(application.template["spec"])
        wanted["nodeSelector"] = {
            **{key: None for key in old if key not in wanted["nodeSelector"]},
            **wanted["nodeSelector"],
        }
        patch["spec"]["template"] = {**application.template, "spec": wanted}
    return patch


def with_checks(patch: dict[str, Any], found: dict[str, Any], application: Application) -> dict[str, Any]:
    """The patch with the checks as the object has them, but for those that were set since it was written last.

    The states of checks belong to their controllers; the object must not have changed when the patch arrives.
    """
    shown = _shown(found, application.lane)
    theirs = {one["name"]: one for one in (found.get("status") or {}).get("admissionChecks") or ()}
    checks = [
        theirs[one["name"]] if one["name"] in theirs and shown >= application.checks[one["name"]] else one
        for one in patch["status"]["admissionChecks"] or ()
    ]
    version = {"resourceVersion": found["metadata"]["resourceVersion"]}
    return {"metadata": version, "status": {**patch["status"], "admissionChecks": checks}}


def mark_patch(found: dict[str, Any], application: Application) -> dict[str, Any] | None:
    """The patch by which an object says up to which decision it was written, where that matters to anybody.

    What was deactivated is set inactive once: if somebody has set it active since, that stands.
    """
    shown = _shown(found, application.lane)
    if shown >= application.sequence or not (application.checks or application.deactivated):
        return None
    version = found["metadata"]["resourceVersion"]
    patch: dict[str, Any] = {"metadata": {"resourceVersion": version, "annotations": {DECISION: application.decision}}}
    return {**patch, "spec": {"active": False}} if shown < application.deactivated else patch


def _shown(found: dict[str, Any], lane: str) -> int:
    return _sequence((found["metadata"].get("annotations") or {}).get(DECISION, ""), lane)


def _sequence(mark: str, lane: str) -> int:
    found, _, number = mark.rpartition("/")
    return int(number) if found == lane and number.isdigit() else 0
