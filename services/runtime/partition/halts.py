"""What keeps a partition, or one of its deciders, from going on: each reason by its kind, reported as long as it holds."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec

import structlog

from services.runtime.lease import Readiness

log = structlog.get_logger()

P = ParamSpec("P")

KINDS = MESSAGE, BUS, CLOCK, BEHIND, STOPPED, REGRESSED, WITNESS = (
    "message",
    "bus",
    "clock",
    "behind",
    "stopped",
    "regressed",
    "witness",
)


class Halts:
    """The current reasons, for health checks, metrics and the log."""

    def __init__(self, partition: str) -> None:
        self.partition = partition
        self.stuck = asyncio.Event()
        """Set while anything halts the whole partition."""
        self.failing: dict[str, str] = {}
        """By name, the error of each decider or observer that fails while the others go on."""
        self._why: dict[str, str] = {}

    @property
    def reason(self) -> str:
        """Why nothing is decided at the moment; empty when all is well."""
        return "; ".join(why for _, why in sorted(self._why.items()))

    @property
    def kinds(self) -> list[str]:
        """The kinds of the current reasons, sorted."""
        return sorted(self._why)

    @property
    def allow_deciding(self) -> bool:
        """Whether deciding is still allowed: false once only a restart or a repaired log helps (stopped, regressed, witness)."""
        return not self._why.keys() & {STOPPED, REGRESSED, WITNESS}

    def readiness(self) -> Readiness:
        """What becomes of this replica's leases: given back where another could go on, kept where nobody should (docs/rules/log.md#halted)."""
        if not self._why.keys().isdisjoint(_OF_THE_LOG):
            return Readiness.KEEPS
        return Readiness.READY if self._why.keys().isdisjoint(_OF_THIS_REPLICA) else Readiness.STANDS_BACK

    def readiness_to_report(self, standbys: int) -> Readiness:
        """The same of who reports what it sees although it can't read on: it gives a lease back only to another that would take it."""
        found = self.readiness()
        return Readiness.READY if found is Readiness.STANDS_BACK and not standbys else found

    def halt(self, kind: str, why: str) -> None:
        """Record that the partition can't go on; each new reason is logged once."""
        if self._why.get(kind) != why:
            self._why[kind] = why
            log.error("partition halted", partition=self.partition, problem=why)
        self.stuck.set()

    def lift(self, kind: str) -> None:
        """Remove the reason of this kind."""
        if self._why and self._why.pop(kind, None) is not None:
            log.info("partition goes on", partition=self.partition, reason=kind)
            if not self._why:
                self.stuck.clear()

    def fails(self, who: str, problem: BaseException) -> None:
        """Record the error of one decider or observer; it is tried again when something changes."""
        description = f"{type(problem).__name__}: {str(problem)[:_SHOWN]}"
        if self.failing.get(who) != description:
            self.failing[who] = description
            log.error("failing", partition=self.partition, who=who, problem=description, exc_info=problem)

    def works(self, who: str) -> None:
        """Remove the recorded error of a decider or observer."""
        if self.failing and self.failing.pop(who, None) is not None:
            log.info("works again", partition=self.partition, who=who)

    def tried(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call an observer; its error is recorded and does not stop the deciders."""
        who = getattr(function, "__qualname__", type(function).__name__)
        try:
            function(*args, **kwargs)
        except Exception as problem:  # noqa: BLE001 - whatever happens there, deciding goes on
            self.fails(who, problem)
        else:
            self.works(who)


_OF_THE_LOG = {REGRESSED, WITNESS}
"""No replica should go on behind what is lost, until somebody has looked at it."""
_OF_THIS_REPLICA = {MESSAGE, CLOCK, STOPPED}
"""Another replica could go on: its clock is right, it has folded all, or it is of a version that can read the message."""
_SHOWN = 200
