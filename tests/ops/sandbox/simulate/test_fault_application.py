"""What faults leave behind is mended by operators, who go on until it is."""

from ops.sandbox.simulate.fault_plan import Fault, FaultKind
from ops.sandbox.simulate.history import play

SPAN = 20_000


def test_messages_that_operators_skip_at_the_same_moment_are_all_skipped() -> None:
    beyond = 2 * SPAN
    stored = [
        Fault(index=index, at=5000 + index, kind=FaultKind.POISON_MESSAGE, number=1, lasts=beyond) for index in range(3)
    ]
    assert play(1, SPAN, stored).broken == ()
