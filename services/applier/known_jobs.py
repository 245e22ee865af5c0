"""A cache of jobs as the API server last returned them: a job is read again only when it may have changed.

A watcher in the same process has each job as it was seen, so that there none is read at all.
"""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import msgspec

from events.json_object import JsonObject
from events.object_version import version_number
from services.applier.plan import Application

T = TypeVar("T")
SeenJobs: TypeAlias = Callable[[str], JsonObject | None]
"""A job as it was last seen, by `kind/namespace/name`; None where nobody here has seen it."""

_MOST = 50_000
_MOST_WHOLE = 1_000


class Still(msgspec.Struct, frozen=True, gc=False):
    """The version of a job that was found suspended and needs no write."""

    uid: str
    version: int


class KnownJobs:
    """Jobs by workload; beyond a limit those read longest ago are forgotten, and read again when something is due.

    A cached job is current while the log names no later version of it. A job that is seen to run without being admitted is
    read in any case.
    """

    def __init__(self, seen: SeenJobs) -> None:
        self._seen = seen
        self._whole: dict[str, JsonObject] = {}
        self._still: dict[str, Still] = {}

    def of(self, application: Application) -> JsonObject | None:
        """The cached job, if it is as new as the log; else None."""
        job = self._whole.get(application.workload)
        if job is None or not self._is_current(application, Still(*_versioned(job))):
            job = self._seen_in_watch(application)
        if job is None or application.pods_run or not self._is_current(application, Still(*_versioned(job))):
            return None
        return job

    def needs_nothing(self, application: Application) -> bool:
        """Whether the job need not be read: a waiting workload's job is suspended, or a running one has no new decision."""
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
        """Cache a job that was read, or returned by a write."""
        _keep(self._whole, application.workload, job, _MOST_WHOLE)
        self._still.pop(application.workload, None)

    def note_still(self, application: Application, job: JsonObject) -> None:
        """Cache the version of a suspended job that needs no write."""
        _keep(self._still, application.workload, Still(*_versioned(job)), _MOST)

    def forget(self, workload: str) -> None:
        """Drop a job that has changed or is gone."""
        self._whole.pop(workload, None)
        self._still.pop(workload, None)

    def _seen_in_watch(self, application: Application) -> JsonObject | None:
        """The job as the watcher has it, if that is the version of the API in which it is written; objects in lists may name none."""
        place = application.job_resource
        job = self._seen(f"{place.kind}/{application.namespace}/{application.described_by}")
        version = f"{place.group}/{place.version}"
        return job if job is not None and job.get("apiVersion", version) == version else None

    @staticmethod
    def _is_current(application: Application, known: Still) -> bool:
        owner = application.of.owner
        return owner is not None and known.uid == owner.uid and known.version >= application.job_version > 0


def _versioned(job: JsonObject) -> tuple[str, int]:
    meta = job["metadata"]
    return str(meta.get("uid", "")), version_number(meta.get("resourceVersion"))


def _keep(table: dict[str, T], key: str, value: T, most: int) -> None:
    table.pop(key, None)
    table[key] = value
    if len(table) > most:
        del table[next(iter(table))]
