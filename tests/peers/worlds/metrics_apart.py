"""Which differences of what metrics tell are meant."""

from tests.peers.worlds.difference import Difference
from tests.peers.worlds.drawn import World


def name_of_metric(world: World, one: Difference) -> str:
    """The name of a difference of a metric that is meant."""
    match one.path:
        case ("metrics", series) if _is_of_line(series) and (one.there or 0) == (one.here or 0) - 1:
            return "head in flight"
        case ("metrics", series) if series.startswith(_IN_COHORT) and _changes_cohorts(world):
            return "cohorts that change"
        case ("metrics", series) if series.startswith("kueue_local_queue_") and _is_closed_for_a_time(world, series):
            return "counted anew"
        case ("metrics", series) if "reason=NoMatchingWorkload," in series and one.there is None:
            return "made anew"
        case _:
            return ""


_IN_COHORT = ("kueue_cohort_subtree_quota{", "kueue_cohort_subtree_resource_reservations{")


def _is_of_line(series: str) -> bool:
    return series.startswith("kueue_local_queue_pending_workloads{") and "status=active" in series


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
