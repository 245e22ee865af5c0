"""The part of the world that the accountant sees: cards with who holds them, the domains of pods, and what is set aside."""

from typing import Protocol

from projections.set_aside.state import SetAsideState
from projections.topology.state import TopologyState


class AccountantState(SetAsideState, TopologyState, Protocol):
    """Which cards a workload gets does not depend on who waits for quota."""
