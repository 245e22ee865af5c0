"""A job that asks for other pods than it was let in with.

Rule: docs/rules/eviction.md#other-pods
"""

from projections.workloads.lifecycle import Workload
from projections.workloads.pods import made_of_pods


def asks_for_others(workload: Workload) -> str:
    """What a job that holds quota asks for otherwise than it was let in; empty where nothing is.

    Not so where pods may be fewer (`minCount`), or come and go while it runs: in an elastic job, and in a group of pods. A job of
    which some pods were done when it was let in was let in with the others alone.
    """
    if workload.admission is None or workload.owner is None or workload.spec.elastic or made_of_pods(workload):
        return ""
    asked = {one.name: one.count for one in workload.spec.pod_sets if one.minimum is None}
    told = [
        f"{asked[one.name]} pods for {one.name}, which was let in with {one.count}"
        for one in workload.admission.assignments
        if not 0 <= asked.get(one.name, one.count) - one.count <= workload.reclaimable.get(one.name, 0)
    ]
    return f"The job asks for {', and '.join(told)}" if told else ""
