"""What is known of jobs from what was read and answered, so that a job is read again only when it may have changed."""

from typing import Any

import msgspec

from events.json_object import JsonObject
from events.object_version import version_number
from services.applier.plan import Application

_MOST = 50_000
_MOST_WHOLE = 1_000


class Still(msgspec.Struct, frozen=True, gc=False):
    """A job that was found suspended, and with nothing to be put right."""

    uid: str
    version: int


class KnownJobs:
    """By workload; of too many those that were read longest ago are forgotten, and read again when something is due.

    What is known is as new as the log: of a job that has changed since, the log names a later version. Whoever is found
    running without having been let in is read whatever is known.
    """

    def __init__(self) -> None:
        self._whole: dict[str, JsonObject] = {}
        self._still: dict[str, Still] = {}

    def of(self, application: Application) -> JsonObject | None:
        """The job, if it is known as the log has it."""
        job = self._whole.get(application.workload)
        if job is None or application.pods_run or not self._is_current(application, Still(*_versioned(job))):
            return None
        return job

    def needs_nothing(self, application: Application) -> bool:
        """Whether the job of somebody who waits stands still, or runs on for somebody of whom nothing new was decided."""
        if application.run:
            return application.aside and application.pods_run
        still = self._still.get(application.workload)
        return (
            still is not None
            and application.waits
            and not application.pods_run
            and self._is_current(application, still)
        )

    def note(self, application: Application, job: JsonObject) -> None:
        """The job was read, or answered to a write."""
        _keep(self._whole, application.workload, job, _MOST_WHOLE)
        self._still.pop(application.workload, None)

    def note_still(self, application: Application, job: JsonObject) -> None:
        """The job is suspended, and nothing is to be written to it."""
        _keep(self._still, application.workload, Still(*_versioned(job)), _MOST)

    def forget(self, workload: str) -> None:
        """It has changed, or is gone."""
        self._whole.pop(workload, None)
        self._still.pop(workload, None)

    @staticmethod
    def _is_current(application: Application, known: Still) -> bool:
        owner = application.of.owner
        return owner is not None and known.uid == owner.uid and known.version >= application.job_version > 0


def _versioned(job: JsonObject) -> tuple[str, int]:
    meta = job["metadata"]
    return str(meta.get("uid", "")), version_number(meta.get("resourceVersion"))


def _keep(table: dict[str, Any], key: str, value: Any, most: int) -> None:
    table.pop(key, None)
    table[key] = value
    if len(table) > most:
        del table[next(iter(table))]
