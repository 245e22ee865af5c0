"""What was reported of a workload as views are saved with it: one flat value, in the shape of all views that were ever saved.

A view has to be understood for ever: where the facts before it were rolled away, there is nothing else to begin at.
"""

from typing import Any

import msgspec

from events.no_entries import no_entries
from events.shared_specs import shared_spec
from events.workload import CheckReported, GateState, WorkloadSpec
from services.watcher.workloads.job_report import JobReport
from services.watcher.workloads.object_report import ObjectReport
from services.watcher.workloads.reported_state import ReportedState


class SavedReport(msgspec.Struct, frozen=True, gc=False):
    """The fields of `ReportedState` and of its parts, which say what they mean."""

    uid: str
    source: str
    spec: WorkloadSpec
    ready: bool | None = None
    gone: str = ""
    reclaimed: dict[str, int] = {}
    finished: bool = False
    checks: dict[str, CheckReported] = {}
    active: bool = True
    parent: str = ""
    owner_uid: str = ""
    unsuspended: int = 0
    suspended_by: str = ""
    injected: bool = False
    opened: dict[str, GateState] = {}
    named: tuple[str, ...] = ()
    version: int = 0
    target: str = ""


_PARTS: dict[str, type[JobReport | ObjectReport]] = {"job": JobReport, "own_object": ObjectReport}
"""The parts of a report by its field."""
_OWN = tuple(name for name in ReportedState.__struct_fields__ if name not in _PARTS)


def as_saved(reported: ReportedState) -> SavedReport:
    """What was reported, as it is saved: field by field, for a view holds one of each workload."""
    job, own = reported.job, reported.own_object
    return SavedReport(
        reported.uid,
        reported.source,
        reported.spec,
        ready=job.ready,
        gone=job.gone,
        reclaimed=job.reclaimed,
        finished=job.finished,
        checks=own.checks,
        active=own.active,
        parent=job.parent,
        owner_uid=own.owner_uid,
        unsuspended=job.unsuspended,
        suspended_by=job.suspended_by,
        injected=job.injected,
        opened=own.opened,
        named=own.named,
        version=reported.version,
        target=own.target,
    )


def as_held(saved: SavedReport) -> ReportedState:
    """What was saved, holding what it has in common with others as those that were folded do."""
    told: dict[str, Any] = {
        **{name: getattr(saved, name) for name in SavedReport.__struct_fields__},
        "spec": shared_spec(saved.spec),
        "reclaimed": saved.reclaimed or no_entries(int),
        "checks": saved.checks or no_entries(CheckReported),
        "opened": saved.opened or no_entries(GateState),
    }
    fields = {name: told[name] for name in _OWN}
    for part, kind in _PARTS.items():
        found = kind(**{name: told[name] for name in kind.__struct_fields__})
        if found != kind():
            fields[part] = found  # Else it holds the value that all others hold.
    return ReportedState(**fields)
