"""The part of the world that the accountant sees: cards with who holds them, the domains of pods, the clusters in which some run, and what is set aside."""

from typing import Protocol

from projections.checks.state import DispatchState
from projections.set_aside.state import SetAsideState
from projections.topology.state import TopologyState


class AccountantState(SetAsideState, TopologyState, DispatchState, Protocol):
    """Which cards a workload gets does not depend on who waits for quota."""
