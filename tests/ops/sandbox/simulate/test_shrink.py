"""Of many faults the fewest are kept that still break a law."""

from collections.abc import Sequence

from ops.sandbox.simulate.fault_plan import Fault, FaultKind
from ops.sandbox.simulate.shrink import shrunk


def faults(count: int) -> list[Fault]:
    return [Fault(index=index, at=index, kind=FaultKind.PAUSE) for index in range(count)]


def test_only_those_are_kept_that_it_takes() -> None:
    def breaks(found: Sequence[Fault]) -> bool:
        return {2, 7} <= {one.index for one in found}

    assert [one.index for one in shrunk(faults(10), breaks)] == [2, 7]


def test_none_is_kept_where_it_breaks_without_any() -> None:
    assert shrunk(faults(6), lambda _: True) == []
