"""What a log has recorded of the world outside: arrivals and run times. A fork runs on with them."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from statistics import median
from typing import get_args

import msgspec

from events.admission import QuotaReserved, WorkloadAdmitted
from events.application import DecisionApplied, DecisionRejected
from events.catalogue import AnyEvent, Fact
from events.control import ObjectRemoved
from events.device import PodObserved
from events.event import Millis
from events.preemption import PreemptionOrdered
from events.workload import (
    CheckReported,
    CheckState,
    EvictionOrdered,
    JobUnsuspended,
    PodsGone,
    PodsReady,
    PodsReclaimed,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadOwned,
    WorkloadSpec,
    WorkloadSubmitted,
)
from ops.queries.stored import in_order
from services.runtime.log_port import Entry

UNKNOWN_RUN: Millis = 3_600_000
"""How long a job is taken to run when nothing at all is known about run times."""


RunClass = tuple[str, int]
"""Local queue and priority: jobs alike in these are taken to run alike."""


class Happening(msgspec.Struct, frozen=True, gc=False):
    """A fact from outside, and when it was seen."""

    at: Millis
    fact: Fact
    sequence: int = 0
    """Its place on the record."""


class RecordedCourse(msgspec.Struct, kw_only=True):
    """All that was recorded of the world outside."""

    happenings: list[Happening] = []
    runs: dict[str, Millis] = {}
    """By workload, how long it ran from its last admission to its end."""
    admitted: dict[str, Millis] = {}
    """By workload, when it was admitted first, on the record."""
    submitted: dict[str, Millis] = {}
    classes: dict[str, RunClass] = {}
    stop_delay: Millis = 0
    """From the order to stop until the pods are gone; the middle one of those recorded."""
    start_delay: Millis = 0
    """From admission until the pods are ready."""
    check_delay: dict[str, Millis] = {}
    """By admission check, from the reservation until it was ready."""
    kept_for: Millis | None = None
    """How long an object stays after its end; for ever when None."""
    began: Millis = 0
    ended: Millis = 0

    def run_of(self, key: str, quantile: int, elapsed: Millis = 0) -> Millis:
        """The run time of a workload: as recorded, else this quantile (per cent) of its class, else of all.

        Of who has run for `elapsed` already, only those count that ran longer; where none did, it is taken to run as long again.
        """
        known = self.runs.get(key)
        return known if known is not None else self._guess(key, quantile, elapsed)

    def _guess(self, key: str, quantile: int, elapsed: Millis) -> Millis:
        found = self._by_class().get(self.classes.get(key, ("", 0))) or self.every
        if not found:
            return UNKNOWN_RUN if elapsed < UNKNOWN_RUN else 2 * elapsed
        longer = found[bisect_right(found, elapsed) :]
        return longer[min(len(longer) * quantile // 100, len(longer) - 1)] if longer else 2 * elapsed

    known: dict[RunClass, list[Millis]] | None = None
    """Run times by class, sorted; computed when they are first asked for."""
    every: list[Millis] = []

    def _by_class(self) -> dict[RunClass, list[Millis]]:
        if self.known is None:
            found: dict[RunClass, list[Millis]] = {}
            for key, run in self.runs.items():
                found.setdefault(self.classes.get(key, ("", 0)), []).append(run)
            for rows in found.values():
                rows.sort()
            self.known, self.every = found, sorted(self.runs.values())
        return self.known


def course_of(entries: Mapping[str, Sequence[Entry]]) -> RecordedCourse:
    """Read all of a log."""
    reader = _Reader()
    for stored in in_order(entries):
        reader.note(stored.event, stored.at, stored.entry.sequence)
    return reader.course()


class _Reader:
    """Gathers a course event by event."""

    def __init__(self) -> None:
        self._course = RecordedCourse(happenings=[], runs={}, admitted={}, submitted={}, classes={}, check_delay={})
        self._last_admitted: dict[str, Millis] = {}
        self._stopped: dict[str, Millis] = {}
        self._reserved: dict[str, Millis] = {}
        self._pods: dict[str, None] = {}
        """Pods of workloads: they follow from decisions, so a fork makes no use of them."""
        self._stops: list[Millis] = []
        self._starts: list[Millis] = []
        self._checks: dict[str, list[Millis]] = {}
        self._finished: set[str] = set()

    def course(self) -> RecordedCourse:
        """What was gathered."""
        course = self._course
        course.stop_delay = int(median(self._stops)) if self._stops else 0
        course.start_delay = int(median(self._starts)) if self._starts else 0
        course.check_delay = {name: int(median(delays)) for name, delays in self._checks.items()}
        # Whose object went after its end would have ended in a fork as well, if at another time.
        course.happenings = [
            one
            for one in course.happenings
            if not (isinstance(one.fact, WorkloadDeleted) and one.fact.workload in self._finished)
        ]
        return course

    def note(self, event: AnyEvent, at: Millis, sequence: int) -> None:  # noqa: C901 - one case per event
        """Take note of one event."""
        course = self._course
        course.began, course.ended = course.began or at, max(course.ended, at)
        match event:
            case QuotaReserved():
                self._reserved[event.workload] = at
            case WorkloadAdmitted():
                course.admitted.setdefault(event.workload, at)
                self._last_admitted[event.workload] = at
            case PreemptionOrdered() | EvictionOrdered():
                self._stopped[event.workload] = at
            case PodsGone():
                if event.workload in self._stopped:
                    self._stops.append(at - self._stopped.pop(event.workload))
            case PodsReady():
                began = self._last_admitted.get(event.workload)
                if event.ready and began is not None:
                    self._starts.append(at - began)
            case WorkloadFinished():
                self._finished.add(event.workload)
                began = self._last_admitted.get(event.workload)
                if began is not None:
                    course.runs[event.workload] = at - began
            case CheckReported():
                began = self._reserved.get(event.workload)
                if began is not None and event.check.state is CheckState.READY:
                    self._checks.setdefault(event.check.name, []).append(at - began)
            case PodObserved() if event.workload:
                self._pods[f"{event.namespace}/{event.name}"] = None
            case ObjectRemoved() if event.kind == "Pod" and f"{event.namespace}/{event.name}" in self._pods:
                pass
            case PodsReclaimed() | JobUnsuspended() | WorkloadOwned() | DecisionApplied() | DecisionRejected():
                pass
            case _:
                self._arrive(event, at, sequence)

    def _arrive(self, event: AnyEvent, at: Millis, sequence: int) -> None:
        if isinstance(event, WorkloadSubmitted):
            self._course.submitted[event.workload] = at
            self._course.classes[event.workload] = run_class(event)
        if isinstance(event, _OUTSIDE):
            self._course.happenings.append(Happening(at, event, sequence))


def run_class(event: WorkloadSubmitted) -> RunClass:
    """The class by which run times are guessed."""
    return f"{event.workload.partition('/')[0]}/{event.spec.queue}", event.spec.priority


def class_name(spec: WorkloadSpec) -> str:
    """The class by which waiting times are grouped: the priority class, or the priority."""
    return spec.priority_class.name if spec.priority_class is not None else f"priority {spec.priority}"


_OUTSIDE: tuple[type[Fact], ...] = get_args(Fact)
