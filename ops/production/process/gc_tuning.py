"""Python's garbage collector, kept from walking over the whole state again and again.

State lives long and holds no cycles; a full collection would only pause a turn. What is there at the start is set aside,
and full collections become rare.
"""

import gc

_YOUNG, _MIDDLE, _OLD = 50_000, 20, 20


def collect_seldom() -> None:
    """Set aside what is there, and collect the rest seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
