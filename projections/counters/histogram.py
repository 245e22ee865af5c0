"""A histogram of durations: how many fell into which bucket, and their sum, in whole milliseconds."""

from bisect import bisect_left

import msgspec

from events.event import Millis

Bounds = tuple[Millis, ...]
"""The upper bounds of the buckets, each of which is in its bucket; what is larger than all falls into one more."""


def _doubling(first: Millis, count: int) -> Bounds:
    return tuple(first << power for power in range(count))


SHORT: Bounds = _doubling(10, 11)
"""Ten milliseconds to ten seconds."""
SECONDS: Bounds = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000)
"""Five milliseconds to ten seconds: what Prometheus has for whoever says nothing else."""
HOURS: Bounds = (1000, *_doubling(2500, 13))
"""A second, then two and a half, doubled up to 10,240: most of Kueue's waits."""
LONGER: Bounds = (1000, *_doubling(2500, 15))
"""The same up to 40,960 seconds."""


class Histogram(msgspec.Struct, frozen=True, gc=False):
    """Durations in buckets; the bounds are not stored, each metric has its own (`Bounds`)."""

    counts: tuple[int, ...]
    """How many fell into each bucket, and at the end into none."""
    total: Millis = 0
    """All durations together."""

    def observed(self, bounds: Bounds, took: Millis) -> "Histogram":
        """This histogram with one more duration in it."""
        counts = list(self.counts)
        counts[bucket_of(bounds, took)] += 1
        return Histogram(tuple(counts), self.total + max(took, 0))

    def plus(self, other: "Histogram") -> "Histogram":
        """The durations of both, which have the same bounds."""
        counts = tuple(map(sum, zip(self.counts, other.counts, strict=True)))
        return Histogram(counts, self.total + other.total)


class Observation(msgspec.Struct, frozen=True, gc=False):
    """What a histogram counted last in one of its buckets: of which workload, how long it took, and when that was."""

    uid: str
    took: Millis
    at: Millis


def bucket_of(bounds: Bounds, took: Millis) -> int:
    """The bucket that a duration falls into; a duration is never below nothing, whatever clocks say."""
    return bisect_left(bounds, max(took, 0))


def empty(bounds: Bounds) -> Histogram:
    """A histogram with these bounds in which nothing has been observed yet."""
    return Histogram((0,) * (len(bounds) + 1))
