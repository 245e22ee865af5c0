"""How much memory something takes while it is done, or stays held of it, in bytes that Python sets aside: the same at every run."""

import gc
import tracemalloc
from collections.abc import Callable

THRESHOLDS = (700, 10, 10)
"""Python's own, whatever a command that ran in this process before has set."""


def peak(what: Callable[[], object]) -> int:
    """So many bytes are held at most while something is done: the less of two times, as all that the process allocates counts."""
    return min(_peak(what), _peak(what))


def _peak(what: Callable[[], object]) -> int:
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    gc.collect()
    tracemalloc.start()
    try:
        what()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*before)


def held(what: Callable[[], object]) -> int:
    """So many bytes of what something gives stay set aside while it is kept: the less of two times."""
    return min(_held(what), _held(what))


def _held(what: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        kept = what()
        gc.collect()
        found = tracemalloc.get_traced_memory()[0]
        del kept
        return found
    finally:
        tracemalloc.stop()
