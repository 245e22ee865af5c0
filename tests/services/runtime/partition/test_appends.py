"""How appends end is counted by author and result, and those that were answered are timed."""

from typing import Any, cast

import pytest

from services.runtime.log_errors import LogFull, LogMovedOn, LogUnavailable
from services.runtime.partition.appends import Appends


class Ticking:
    """A clock that is looked at every seven milliseconds."""

    def __init__(self) -> None:
        self._at = 0

    def now(self) -> int:
        self._at += 7
        return self._at


def blank(kind: type[Exception]) -> Exception:
    """An error of a kind, whatever it says."""
    return kind.__new__(kind)


@pytest.mark.parametrize(
    ("kind", "result", "answered"),
    [(LogMovedOn, "conflict", 1), (LogFull, "full", 1), (LogUnavailable, "unavailable", 0)],
)
def test_an_append_that_is_not_taken_is_counted_by_its_reason_and_still_raises(
    kind: type[Exception], result: str, answered: int
) -> None:
    appends = Appends(cast(Any, Ticking()))
    with pytest.raises(kind), appends.timed("admitter"):
        raise blank(kind)
    assert appends.results == {("admitter", result): 1}
    assert sum(appends.took.counts) == answered, "what the bus did not answer says nothing about how long it takes"


def test_of_each_bucket_the_last_append_that_is_traced_is_kept() -> None:
    appends = Appends(cast(Any, Ticking()))
    for trace in ("", "a", "b", ""):
        with appends.timed("admitter", trace):
            pass
    assert {bucket: (one.trace, one.took) for bucket, one in appends.traced.items()} == {0: ("b", 7)}


def test_an_append_that_is_taken_is_counted_and_timed_and_one_that_is_cut_off_is_not() -> None:
    appends = Appends(cast(Any, Ticking()))
    with appends.timed("preemptor"):
        pass
    with pytest.raises(KeyboardInterrupt), appends.timed("preemptor"):
        raise KeyboardInterrupt
    assert appends.results == {("preemptor", "ok"): 1}
    assert (appends.took.total, appends.took.counts[0]) == (7, 1)
