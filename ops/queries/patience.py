"""How long an answer may take: what is tried to make it better ends then."""

import time
from collections.abc import Callable


class Patience:
    """So many seconds from now on; without a number for ever."""

    def __init__(self, seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._end = clock, None if seconds is None else clock() + seconds
        self.ended = False
        """Whether something was left out because of it."""

    def goes_on(self) -> bool:
        """Whether there is time for one trial more."""
        self.ended = self.ended or (self._end is not None and self._clock() >= self._end)
        return not self.ended
