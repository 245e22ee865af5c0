"""The Job controller: pods for jobs that may run, none for suspended ones, the status that says so, and the end of those that have ended."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from events.timestamp import format_timestamp, parse_timestamp
from ops.production.process.clock import ScaledClock
from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.resources import Resources
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Name, Object, ObjectChange

JOBS, PODS = "jobs.batch", "pods"
_OVER = ("Succeeded", "Failed")
_SECOND = 1000
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_LIMIT_OF_INDEX = "backoffLimitPerIndex"


class JobController(Controller):
    """Keeps as many pods as a job's parallelism and what is left of its completions ask for."""

    def __init__(self, resources: Resources, clock: ScaledClock) -> None:
        super().__init__(resources, clock)
        self._owned: dict[str, dict[Name, None]] = {}
        """The pods that each job was ever seen to own, by the job's UID."""

    def kinds(self) -> tuple[str, ...]:
        """Jobs, and the pods that they own."""
        return (JOBS, PODS)

    def changed(self, change: ObjectChange, name: Name) -> None:
        """A pod's change is its job's business."""
        if change.key == PODS:
            owner = _owner(change.object)
            if owner is not None:
                self._own(owner["uid"], name, gone=change.type == "DELETED")
            job = self.store.get(JOBS, (name[0], owner["name"])) if owner is not None else None
            if job is not None and owner is not None and job["metadata"]["uid"] == owner["uid"]:
                self.look(JOBS, (name[0], owner["name"]), job)
        else:
            super().changed(change, name)

    def look(self, key: str, name: Name, value: Object) -> None:
        """See to a job: to its pods, and once it has ended to its removal."""
        if key == PODS and (owner := _owner(value)) is not None:
            self._own(owner["uid"], name, gone=False)
        if key != JOBS or value["metadata"].get("deletionTimestamp"):
            return
        if _ended(value):
            self._remove_in_time(name, value)
        elif not _is_of_another(value):
            self._run(name, value)

    def _run(self, name: Name, value: Object) -> None:
        """Create or delete pods, then tell the status."""
        spec = value["spec"]
        pods = self._pods(value)
        alive = [pod for pod in pods if look(pod, "status.phase") not in _OVER]
        active = [pod for pod in alive if not pod["metadata"].get("deletionTimestamp")]
        succeeded, failed = _counted(value, pods, "Succeeded"), _counted(value, pods, "Failed")
        completions = spec.get("completions")
        conditions: list[Object] = list(look(value, "status.conditions") or [])
        started = look(value, "status.startTime")
        if spec.get("suspend"):
            for pod in active:
                self._delete(pod)
            active, started = [], None
            self._set(conditions, "Suspended", "True", "JobSuspended", "Job suspended")
        else:
            started = started or format_timestamp(self.clock.now())
            if any(one["type"] == "Suspended" for one in conditions):
                self._set(conditions, "Suspended", "False", "JobResumed", "Job resumed")
            active = self._steer(value, pods, active, succeeded, failed, conditions)
        indexes = _failed_indexes(value, pods)
        ready = sum(1 for pod in active if look(pod, 'status.conditions[?(@.type=="Ready")].status') == "True")
        status: dict[str, Any] = {
            "active": len(active),
            "ready": ready,
            "succeeded": succeeded,
            "failed": failed,
            "terminating": len(
                [
                    p
                    for p in self._pods(value)
                    if p["metadata"].get("deletionTimestamp") and look(p, "status.phase") not in _OVER
                ]
            ),
            "conditions": conditions,
        }
        if indexes:
            status["failedIndexes"] = ",".join(map(str, indexes))
        if started:
            status["startTime"] = started
        if any(one["type"] == "Complete" and one["status"] == "True" for one in conditions):
            status["completionTime"] = format_timestamp(self.clock.now())
        shown = {field: count for field, count in status.items() if count != 0 or field in ("ready", "terminating")}
        del completions
        kind = self.resources.kind("batch", "v1", "jobs")
        self.resources.update(kind, name, {"metadata": {}, "status": shown}, subresource="status")

    def _steer(
        self,
        job: Object,
        pods: list[Object],
        active: list[Object],
        succeeded: int,
        failed: int,
        conditions: list[Object],
    ) -> list[Object]:
        spec = job["spec"]
        completions, parallelism = spec.get("completions"), spec.get("parallelism", 1)
        lost = _failed_indexes(job, pods)
        if lost and completions is not None and succeeded + len(lost) >= completions:
            for kind in ("FailureTarget", "Failed"):
                self._set(conditions, kind, "True", "FailedIndexes", "Job has failed indexes")
            return []
        if _LIMIT_OF_INDEX not in spec and failed > spec.get("backoffLimit", 6):
            for pod in active:
                self._delete(pod)
            for kind in ("FailureTarget", "Failed"):
                self._set(
                    conditions, kind, "True", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
                )
            return []
        done = succeeded >= completions if completions is not None else bool(succeeded) and not active
        if done:
            for pod in active:
                self._delete(pod)
            self._set(
                conditions,
                "SuccessCriteriaMet",
                "True",
                "CompletionsReached",
                "Reached expected number of succeeded pods",
            )
            self._set(conditions, "Complete", "True", "CompletionsReached", "Reached expected number of succeeded pods")
            return []
        wanted = parallelism if completions is None else min(parallelism, completions - succeeded - len(lost))
        if completions is None and succeeded:
            wanted = len(active)
        for pod in active[wanted:]:
            self._delete(pod)
        used = {_index(pod) for pod in active} | {str(one) for one in lost}
        used |= {_index(pod) for pod in pods if look(pod, "status.phase") == "Succeeded"}
        made = [self._create(job, len(pods) + i, used) for i in range(wanted - len(active))]
        return [*active[:wanted], *made]

    def _remove_in_time(self, name: Name, job: Object) -> None:
        """Remove a job that has ended `ttlSecondsAfterFinished` later, whoever has run it."""
        stays = job["spec"].get("ttlSecondsAfterFinished")
        if stays is None:
            return
        due = max(map(parse_timestamp, _ends(job))) + stays * _SECOND
        if due > self.clock.now():
            self.look_again(due, JOBS, name)
        else:
            self.resources.delete(self.resources.kind("batch", "v1", "jobs"), name)

    def _pods(self, job: Object) -> list[Object]:
        names = self._owned.get(job["metadata"]["uid"], {})
        return [pod for name in names if (pod := self.store.get(PODS, name)) is not None]

    def _own(self, uid: str, name: Name, *, gone: bool) -> None:
        owned = self._owned.setdefault(uid, {})
        if gone:
            owned.pop(name, None)
        else:
            owned[name] = None

    def _create(self, job: Object, number: int, used: set[Any]) -> Object:
        meta, template = job["metadata"], job["spec"]["template"]
        digest = hashlib.sha256(f"{meta['uid']}/{number}/{self.store.version}".encode()).hexdigest()[:5]
        annotations = dict((template.get("metadata") or {}).get("annotations") or {})
        labels = dict((template.get("metadata") or {}).get("labels") or {})
        if job["spec"].get("completionMode") == "Indexed":
            index = next(str(i) for i in range(job["spec"]["completions"]) if str(i) not in used)
            used.add(index)
            annotations[COMPLETION_INDEX] = index
            labels[COMPLETION_INDEX] = index
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        pod = {
            "metadata": {
                "name": f"{meta['name']}-{digest}",
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [owner],
            },
            "spec": template.get("spec") or {},
        }
        made = self.resources.create(self.resources.kind("", "v1", "pods"), meta["namespace"], pod)
        self._own(meta["uid"], (meta["namespace"], made["metadata"]["name"]), gone=False)
        return made

    def _delete(self, pod: Object) -> None:
        meta = pod["metadata"]
        if not meta.get("deletionTimestamp"):
            self.resources.delete(self.resources.kind("", "v1", "pods"), (meta["namespace"], meta["name"]))

    def _set(self, conditions: list[Object], kind: str, status: str, reason: str, message: str) -> None:
        found = next((one for one in conditions if one["type"] == kind), None)
        if found is not None and found["status"] == status:
            return
        if found is not None:
            conditions.remove(found)
        now = format_timestamp(self.clock.now())
        conditions.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastProbeTime": now,
                "lastTransitionTime": now,
            }
        )


def _failed_indexes(job: Object, pods: list[Object]) -> list[int]:
    """The indexes of a Job that have failed more often than they may."""
    limit = job["spec"].get(_LIMIT_OF_INDEX)
    if limit is None:
        return []
    failed = Counter(_index(pod) for pod in pods if look(pod, "status.phase") == "Failed")
    return sorted(int(index) for index, times in failed.items() if index is not None and times > limit)


def _index(pod: Object) -> str | None:
    return (pod["metadata"].get("annotations") or {}).get(COMPLETION_INDEX)


def _owner(pod: Object) -> Object | None:
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("kind") == "Job" and one.get("controller")), None)


def _is_of_another(job: Object) -> bool:
    """Whether another controller runs the job, as its `managedBy` says."""
    return job["spec"].get("managedBy") not in (None, "", "kubernetes.io/job-controller")


def _counted(job: Object, pods: Sequence[Object], phase: str) -> int:
    """How many pods have ended so; those that were taken away since count still."""
    before: int = look(job, f"status.{phase.lower()}") or 0
    return max(before, sum(1 for pod in pods if look(pod, "status.phase") == phase))


def _ended(job: Object) -> bool:
    return bool(_ends(job))


def _ends(job: Object) -> list[str]:
    """Since when the conditions of its end are true."""
    conditions = look(job, "status.conditions") or ()
    return [
        one["lastTransitionTime"]
        for one in conditions
        if one["type"] in ("Complete", "Failed") and one["status"] == "True"
    ]
