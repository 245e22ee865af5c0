"""What keeps a partition, or one of its deciders, from going on: each reason by its kind, told as long as it holds."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec

import structlog

log = structlog.get_logger()

P = ParamSpec("P")

KINDS = MESSAGE, BUS, CLOCK, STOPPED, REGRESSED, WITNESS = (
    "message",
    "bus",
    "clock",
    "stopped",
    "regressed",
    "witness",
)


class Halts:
    """The reasons that hold at the moment."""

    def __init__(self, partition: str) -> None:
        self.partition = partition
        self.stuck = asyncio.Event()
        """Set while anything halts the whole partition."""
        self.failing: dict[str, str] = {}
        """Who fails here while the others go on, and with what."""
        self._why: dict[str, str] = {}

    @property
    def told(self) -> str:
        """Why nothing is decided at the moment; empty when all is well."""
        return "; ".join(why for _, why in sorted(self._why.items()))

    @property
    def kinds(self) -> list[str]:
        """The kinds of reasons that hold."""
        return sorted(self._why)

    @property
    def allow_deciding(self) -> bool:
        """Whether nothing holds that only a start anew, or the log's being whole again, puts right."""
        return not self._why.keys() & {STOPPED, REGRESSED, WITNESS}

    def halt(self, kind: str, why: str) -> None:
        """The partition can't go on for this reason."""
        if self._why.get(kind) != why:
            self._why[kind] = why
            log.error("partition halted", partition=self.partition, problem=why)
        self.stuck.set()

    def lift(self, kind: str) -> None:
        """The reason holds no more."""
        if self._why.pop(kind, None) is not None:
            log.info("partition goes on", partition=self.partition, reason=kind)
        if not self._why:
            self.stuck.clear()

    def fails(self, who: str, problem: BaseException) -> None:
        """One of several fails, and is tried again when something changes."""
        told = f"{type(problem).__name__}: {str(problem)[:_SHOWN]}"
        if self.failing.get(who) != told:
            self.failing[who] = told
            log.error("failing", partition=self.partition, who=who, problem=told, exc_info=problem)

    def works(self, who: str) -> None:
        """Whoever failed does so no more."""
        if self.failing and self.failing.pop(who, None) is not None:
            log.info("works again", partition=self.partition, who=who)

    def tried(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Call somebody who only looks on: that must not stop those who decide."""
        who = getattr(function, "__qualname__", type(function).__name__)
        try:
            function(*args, **kwargs)
        except Exception as problem:  # noqa: BLE001 - whatever happens there, deciding goes on
            self.fails(who, problem)
        else:
            self.works(who)


_SHOWN = 200
