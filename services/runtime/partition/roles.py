"""The roles around a partition: deciders, and those that follow commits (keeper, verifier) and workloads (observer)."""

from collections.abc import Callable, Sequence
from typing import Protocol

from events.catalogue import Decision
from events.commit import Commit
from projections.log_position import LogPosition
from projections.world import World
from services.runtime.log_port import Entry
from services.runtime.partition.fold import PartitionFold


class Decider(Protocol):
    """The pure part of a service: what it decides about a world, with neither clock nor I/O."""

    @property
    def name(self) -> str:
        """The author that its commits name, such as `admitter`."""
        ...

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """The decisions to commit at this position; empty when there is nothing to decide.

        They are folded into the world; the caller undoes that if they can't be appended.
        """
        ...


Keeper = Callable[[PartitionFold], None]
"""Called after each commit that was folded, while nothing is folded ahead of it."""

Observer = Callable[[World, Sequence[str]], None]
"""Called after each turn with the keys of the workloads that something happened to."""

Verifier = Callable[[PartitionFold, Entry, Commit], None]
"""Folds a commit that was found on the partition, in place of `PartitionFold.fold_commit`, which raises what this may raise."""
