"""How a process that holds much state for long deals with memory.

State lives long and holds no cycles: a full collection would walk over all of it, and only pause a turn. Buffers in which a
whole world is written are large and short-lived: in the heap they would leave holes that the process keeps.
"""

import ctypes
import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 20
_M_MMAP_THRESHOLD = -3
_LARGE = 1 << 20
"""Bytes from which on a buffer is a mapping of its own, which goes back to the system when it is freed."""


def tune_memory() -> None:
    """Set aside what is there, collect the rest seldom, and give large buffers back when they are freed."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
    # Left alone, glibc raises its threshold to the largest buffer it has seen; other C libraries have no such call.
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, _LARGE)
