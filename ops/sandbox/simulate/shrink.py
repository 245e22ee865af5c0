"""The fewest faults under which a history still breaks a law."""

from collections.abc import Callable, Sequence

from ops.sandbox.simulate.fault_plan import Fault

Breaks = Callable[[Sequence[Fault]], bool]


def shrunk(faults: Sequence[Fault], breaks: Breaks) -> list[Fault]:
    """Faults, none of which can be left out, that still break it; first halves are left out, then single ones."""
    kept = list(faults)
    size = max(len(kept) // 2, 1)
    while True:
        kept, less = _without_runs(kept, size, breaks)
        if size == 1 and not less:
            return kept
        size = max(size // 2, 1)


def _without_runs(faults: list[Fault], size: int, breaks: Breaks) -> tuple[list[Fault], bool]:
    kept, less, start = faults, False, 0
    while start < len(kept):
        fewer = kept[:start] + kept[start + size :]
        if breaks(fewer):
            kept, less = fewer, True
        else:
            start += size
    return kept, less
