"""`waitForPodsReady.blockAdmission`: no quota while pods of admitted workloads are not ready.

Rule: docs/rules/cycle.md#block-admission
"""

from projections.workloads.lifecycle import PODS_READY, checks_ready
from projections.world import World

WAITING_FOR_PODS_READY = "WaitingForPodsReady"
NOT_ALL_READY = "waiting for all admitted workloads to be in PodsReady condition"


def blocks_admission(world: World) -> bool:
    """Whether `waitForPodsReady.blockAdmission` is on."""
    rule = world.settings.pods_ready
    return rule is not None and rule.block_admission


def somebody_unready(world: World) -> bool:
    """Whether some workload with reserved quota and ready checks (it may still wait for devices) is not PodsReady."""
    for holders in world.holding.values():
        for key in holders:
            workload = world.workloads[key]
            if checks_ready(workload) and not workload.is_true(PODS_READY):
                return True
    return False
