"""Who takes part in a partition: its deciders, and who follows their turns, their commits and what happens to workloads."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from events.catalogue import Decision
from projections.log_position import LogPosition
from projections.world import World
from services.runtime.partition_fold import PartitionFold


class Decider(Protocol):
    """The pure part of a service."""

    @property
    def name(self) -> str:
        """The author of its commits."""
        ...

    def decide(self, world: World, position: LogPosition) -> list[Decision]:
        """What should happen next, if it stands at this place; empty when there is nothing to say.

        The world is left with these decisions folded; whoever asked takes them back if they don't come to stand there.
        """
        ...


class Tracer(Protocol):
    """Opens a span for a turn and gives the headers that carry it on."""

    def turn(self, author: str, partition: str) -> AbstractContextManager[Mapping[str, str]]:
        """A span around one decision and its append."""
        ...


Keeper = Callable[[PartitionFold], None]
"""Told of each commit that was folded, while nothing is folded ahead of it."""

Observer = Callable[[World, Sequence[str]], None]
"""Told after each turn which workloads something happened to."""
