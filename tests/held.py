"""How much memory something takes while it is done, in bytes that Python sets aside: the same at every run."""

import gc
import tracemalloc
from collections.abc import Callable


def peak(what: Callable[[], object]) -> int:
    """So many bytes are held at most while something is done."""
    gc.collect()
    tracemalloc.start()
    try:
        what()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
