"""Counters as a value that can be stored, and gone on from."""

import msgspec

from projections.counters.course import Course
from projections.counters.gate_removals import Held
from projections.counters.gone_queues import Queue
from projections.counters.histogram import Histogram
from projections.counters.preemption_outcomes import Open
from projections.counters.undecided_workloads import Creation
from projections.object_versions import SavedVersion

Series = tuple[str, ...]
"""The name of a metric, and the values of its labels in the order of docs/metrics.md."""


class CountedSoFar(msgspec.Struct, frozen=True, kw_only=True):
    """The counters as a value that can be stored."""

    counts: tuple[tuple[Series, int], ...]
    times: tuple[tuple[Series, Histogram], ...]
    courses: dict[str, Course]
    cohorts: dict[str, str]
    parents: dict[str, str]
    until_ready: bool
    known: dict[str, SavedVersion]
    epoch: int
    slices: dict[str, str] = {}
    alone: dict[str, bool] = {}
    """As in `SliceChains`."""
    preemptions: Open = {}
    held: Held = {}
    skipped: dict[str, str] = {}
    """By cluster queue, as in `SkippedHeads`."""
    undecided: dict[str, Creation] = {}
    divided: bool = False
    variants: dict[str, str] = {}
    """By variant the workload that it belongs to."""
    acting: dict[str, str] = {}
    """By workload the variant that it runs as."""
    gone: tuple[Queue, ...] = ()
    """The queues that are gone of those in which workloads may still be."""
