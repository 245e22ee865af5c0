"""The slices in which an elastic job is found that another manager has let in, or a log of ours that is no more.

They are called otherwise than the Workloads of other jobs, and are known by whom they belong to.

Rule: docs/rules/adoption.md#slices
"""

from collections.abc import Iterable

from msgspec.structs import replace

from events.catalogue import Fact
from services.watcher.jobs.jobs import JobState, submitted
from services.watcher.workloads.reported_state import ReportedState, with_counts
from services.watcher.workloads.workload_object_diff import as_found, marks_of


def that_count(found: Iterable[JobState]) -> list[JobState]:
    """Those that are not over, each behind the one that it is to replace; of a job whose slices are all over the last one."""
    ordered = sorted(found, key=lambda one: (one.created_at, bool(one.spec.replaces), one.workload))
    return [one for one in ordered if one.finished is None] or ordered[-1:]


def begun_in(reported: ReportedState, job: JobState, slices: list[JobState]) -> list[Fact]:
    """The facts by which a job is told that is found in these slices; what the first of them says of it is taken down."""
    first, *_ = found = _as_slices(job, slices)
    reported.spec = first.spec
    reported.tell_of_job(
        unsuspended=job.running, injected=first.adopted is not None and bool(first.adopted.cluster_queue)
    )
    reported.find(first.adopted)
    return [submitted(one, marks_of(job, slice_)) for one, slice_ in zip(found, slices, strict=True)]


def _as_slices(job: JobState, slices: list[JobState]) -> list[JobState]:
    """The job in each of these, as it was found."""
    there = {one.workload for one in slices}
    running = next((one for one in slices if one.adopted is not None and one.adopted.cluster_queue), None)
    # The template of a job that runs holds what was injected into it, and so do slices that were made of it since.
    asked = job.spec.pod_sets if running is None else running.spec.pod_sets
    return [
        as_found(
            replace(
                job,
                workload=one.workload,
                created_at=one.created_at,
                spec=replace(
                    job.spec,
                    pod_sets=with_counts(asked, {each.name: each.count for each in one.spec.pod_sets}),
                    active=one.spec.active,
                    slice_name=one.spec.slice_name,
                    replaces=one.spec.replaces if one.spec.replaces in there else "",
                ),
            ),
            one,
        )
        for one in slices
    ]
