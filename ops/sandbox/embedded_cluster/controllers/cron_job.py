"""The CronJob controller: a job whenever the schedule comes round."""

from typing import Any

from events.event import Millis
from events.timestamp import format_timestamp, parse_timestamp
from ops.sandbox.embedded_cluster.controllers.owned_pods import owned, owner_reference
from ops.sandbox.embedded_cluster.controllers.owner_controller import OwnerController
from ops.sandbox.embedded_cluster.cron_schedule import Schedule
from ops.sandbox.embedded_cluster.selection import look
from ops.sandbox.embedded_cluster.store import Name, Object

CRON_JOBS, JOBS = "cronjobs.batch", "jobs.batch"
_MINUTE = 60_000


class CronJobs(OwnerController):
    """Makes the jobs of every CronJob; what was missed while nobody looked is made once."""

    kind, owner_key, owned_key = "CronJob", CRON_JOBS, JOBS

    def reconcile(self, name: Name, value: Object) -> None:
        """Make the job whose time has come, forget those of long ago, tell the status."""
        last = look(value, "status.lastScheduleTime")
        begin = parse_timestamp(last or value["metadata"]["creationTimestamp"])
        if not value["spec"].get("suspend"):
            due = self._last_come(value, begin)
            if due is not None:
                last = self._make(name, value, due) or last
            following = Schedule(value["spec"]["schedule"]).after(self.clock.now())
            if following is not None:
                self.look_again(following, CRON_JOBS, name)
        jobs = owned(self.store, JOBS, value)
        self._forget(jobs, "Complete", value["spec"].get("successfulJobsHistoryLimit", 3))
        self._forget(jobs, "Failed", value["spec"].get("failedJobsHistoryLimit", 1))
        self._tell(name, last, [job for job in jobs if not _ended(job)])

    def _last_come(self, value: Object, begin: Millis) -> Millis | None:
        """The last time that has come since then."""
        schedule, found = Schedule(value["spec"]["schedule"]), None
        following = schedule.after(begin)
        while following is not None and following <= self.clock.now():
            found, following = following, schedule.after(following)
        return found

    def _make(self, name: Name, value: Object, due: Millis) -> str | None:
        """Make the job of that time; the time, unless those before keep it from being made."""
        active = [job for job in owned(self.store, JOBS, value) if not _ended(job)]
        kind = self.resources.kind("batch", "v1", "jobs")
        match value["spec"].get("concurrencyPolicy"):
            case "Forbid" if active:
                return None
            case "Replace":
                for job in active:
                    self.resources.delete(kind, (name[0], job["metadata"]["name"]))
            case _:
                pass
        template = value["spec"]["jobTemplate"]
        meta: Object = template.get("metadata") or {}
        made = f"{name[1]}-{due // _MINUTE}"
        if self.store.get(JOBS, (name[0], made)) is None:
            noted = {
                **(meta.get("annotations") or {}),
                "batch.kubernetes.io/cronjob-scheduled-timestamp": format_timestamp(due),
            }
            job = {
                "metadata": {
                    "name": made,
                    "labels": dict(meta.get("labels") or {}),
                    "annotations": noted,
                    "ownerReferences": [owner_reference(value)],
                },
                "spec": template["spec"],
            }
            self.resources.create(kind, name[0], job)
        return format_timestamp(due)

    def _forget(self, jobs: list[Object], end: str, limit: int) -> None:
        ended = [job for job in jobs if _has(job, end)]
        ended.sort(key=lambda job: int(job["metadata"]["resourceVersion"]), reverse=True)
        for job in ended[limit:]:
            meta = job["metadata"]
            self.resources.delete(self.resources.kind("batch", "v1", "jobs"), (meta["namespace"], meta["name"]))

    def _tell(self, name: Name, last: str | None, active: list[Object]) -> None:
        status: dict[str, Any] = {"lastScheduleTime": last} if last else {}
        if active:
            status["active"] = [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    **{f: job["metadata"][f] for f in ("namespace", "name", "uid")},
                }
                for job in active
            ]
        kind = self.resources.kind("batch", "v1", "cronjobs")
        self.resources.update(kind, name, {"metadata": {}, "status": status}, subresource="status")


def _has(job: Object, end: str) -> bool:
    return look(job, f'status.conditions[?(@.type=="{end}")].status') == "True"


def _ended(job: Object) -> bool:
    return _has(job, "Complete") or _has(job, "Failed")
