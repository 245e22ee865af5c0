"""What the Workload object of a job says that the job itself does not: whether it is active, and how its checks stand."""

from typing import Any

from events.api.workload import ApiWorkload
from events.catalogue import Fact
from events.workload import CheckReported, WorkloadSwitched
from services.watcher.cluster_objects import read
from services.watcher.workload_objects import checks_of


def companion_facts(
    workload: str, value: dict[str, Any], *, active: bool, checks: dict[str, CheckReported]
) -> list[Fact]:
    """In what the object differs from what was told of it. Raises `Refused`."""
    found = read(value, ApiWorkload)
    facts: list[Fact] = []
    if found.spec.active != active:
        facts.append(WorkloadSwitched(workload=workload, active=found.spec.active))
    for check in checks_of(found):
        report = CheckReported(workload=workload, check=check)
        if checks.get(check.name) != report:
            facts.append(report)
    return facts
