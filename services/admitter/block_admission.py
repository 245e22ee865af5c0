"""`waitForPodsReady.blockAdmission`: no quota while pods of admitted workloads are not ready.

Rule: docs/rules/cycle.md#block-admission
"""

from collections.abc import Iterator, Mapping

from events.settings import SettingsObserved
from projections.quota.holders import QuotaHolders
from projections.workloads.lifecycle import PODS_READY, Workload, checks_ready

WAITING_FOR_PODS_READY = "WaitingForPodsReady"
NOT_ALL_READY = "waiting for all admitted workloads to be in PodsReady condition"


def blocks_admission(settings: SettingsObserved) -> bool:
    """Whether `waitForPodsReady.blockAdmission` is on: nobody is let in while pods of others are not ready."""
    rule = settings.pods_ready
    return rule is not None and rule.block_admission


def somebody_unready(holding: Mapping[str, QuotaHolders], workloads: Mapping[str, Workload]) -> bool:
    """Whether some workload with reserved quota and ready checks (it may still wait for devices) is not PodsReady."""
    return any(unready(holding, workloads))


def unready(holding: Mapping[str, QuotaHolders], workloads: Mapping[str, Workload]) -> Iterator[str]:
    """The workloads with reserved quota and ready checks that are not PodsReady."""
    for holders in holding.values():
        for key in holders:
            workload = workloads[key]
            if checks_ready(workload) and not workload.is_true(PODS_READY):
                yield key
