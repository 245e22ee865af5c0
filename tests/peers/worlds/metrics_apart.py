"""Which differences of what metrics tell are meant."""

import re
from typing import Any

from tests.peers.worlds.difference import Difference
from tests.peers.worlds.drawn import World
from tests.peers.worlds.seen import Seen


def name_of_metric(world: World, one: Difference, before: Any, there: Seen, here: Seen) -> str:
    """The name of a difference of a metric that is meant; `before` is what Kueue told before the step."""
    match one.path:
        case ("metrics", series) if series.startswith(_PENDING):
            return _of_pending(series, there, here)
        case ("metrics", series) if series.startswith(_IN_COHORT) and _changes_cohorts(world):
            return "cohorts that change"
        case ("metrics", series) if series.startswith("kueue_local_queue_") and _is_closed_for_a_time(world, series):
            return "counted anew"
        case ("metrics", series) if series.startswith(_GAUGES) and one.there == before:
            return "not told anew"
        case ("metrics", series) if (
            series.startswith("kueue_pods_ready_to_evicted_time_seconds{") and one.there is None
        ):
            return "ready without waiting"
        case ("metrics", series) if series.startswith(_UNTIL_READY) and one.there is None:
            return "ready of no job"
        case ("metrics", series) if series.startswith(_OF_SLICES) and _has_slices(world):
            return "slices that are replaced"
        case ("metrics", series) if series.startswith(_IN_DELETED) and _changes_cohorts(world):
            return "counted anew"
        case ("metrics", series) if "reason=NoMatchingWorkload," in series and one.there is None:
            return "made anew"
        case _:
            return ""


_GAUGES = (
    "kueue_local_queue_status{",
    "kueue_local_queue_resource_reservation{",
    "kueue_local_queue_resource_usage{",
    "kueue_cluster_queue_weighted_share{",
)
"""What Kueue tells when it looks at a queue, and not when something else has changed it."""
_UNTIL_READY = (
    "kueue_ready_wait_time_seconds{",
    "kueue_admitted_until_ready_wait_time_seconds{",
    "kueue_local_queue_ready_wait_time_seconds{",
    "kueue_local_queue_admitted_until_ready_wait_time_seconds{",
)
_OF_SLICES = (
    "kueue_replaced_workload_slices_total{",
    "kueue_finished_workloads_total{",
    "kueue_local_queue_finished_workloads_total{",
)
_PENDING = ("kueue_pending_workloads{", "kueue_local_queue_pending_workloads{")
_IN_DELETED = "kueue_cohort_subtree_admitted_workloads_total{"
_IN_COHORT = ("kueue_cohort_subtree_quota{", "kueue_cohort_subtree_resource_reservations{")


def _of_pending(series: str, there: Seen, here: Seen) -> str:
    """Why other ones are active than inadmissible, or one fewer waits at a local queue."""
    both = [re.sub(r"status=\w+", f"status={one}", series) for one in ("active", "inadmissible")]
    fewer = sum(here["metrics"].get(one, 0) - there["metrics"].get(one, 0) for one in both)
    if fewer == 0:
        return "tried for ever"
    return "head in flight" if fewer == 1 and series.startswith("kueue_local_queue_") else ""


def _has_slices(world: World) -> bool:
    """Whether jobs of it go on in slices that replace each other."""
    return bool({"elastic", "rays"} & set(world.features))


def _changes_cohorts(world: World) -> bool:
    """Whether a cohort changes, or a queue gets into another one, at some time."""
    return any(
        one.kind == "Cohort" or (one.kind == "ClusterQueue" and "cohortName" in one.value.get("spec", {}))
        for one in world.steps
    )


def _is_closed_for_a_time(world: World, series: str) -> bool:
    """Whether the local queue of a series is stopped or gone at some time."""
    return any(
        one.kind == "LocalQueue"
        and f"name={one.name}," in series
        and (one.verb == "delete" or "stopPolicy" in one.value.get("spec", {}))
        for one in world.steps
    )
