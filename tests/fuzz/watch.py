"""How long one platform may take: deciders that never come to rest stop the clock of their own world, not the processor's."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

LONGEST_S = 30.0
"""Of a processor's time."""
_AGAIN_S = 5.0
"""Where a handler or a destructor has swallowed it, it is said again."""


class NeverAtRest(BaseException):
    """The services of a platform are at work without end; no guard of theirs takes this for the failure of one workload."""


@contextmanager
def watched() -> Generator[None, None, None]:
    """Raises `NeverAtRest` within, wherever that is, when the time is over."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise NeverAtRest(f"nothing comes to rest within {LONGEST_S:.0f} s of a processor's time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
