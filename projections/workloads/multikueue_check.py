"""By which of its checks a workload runs on another cluster."""

from collections.abc import Mapping

from events.api.check_controllers import MULTIKUEUE
from events.quota import AdmissionCheckObserved
from projections.workloads.lifecycle import Workload


def check_of(checks: Mapping[str, AdmissionCheckObserved], workload: Workload) -> str:
    """The check by which a workload runs on another cluster; empty when it needs none."""
    return next(
        (
            name
            for name in sorted(workload.checks)
            if (found := checks.get(name)) is not None and found.controller == MULTIKUEUE
        ),
        "",
    )
