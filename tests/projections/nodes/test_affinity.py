import pytest

from events.selector import Effect, Taint, Toleration
from projections.nodes.affinity import tolerates


@pytest.mark.parametrize(
    ("operator", "value", "taint", "tolerated"),
    [
        ("Lt", "1000", "900", True),
        ("Lt", "900", "900", False),
        ("Lt", "-5", "-10", True),
        ("Gt", "800", "900", True),
        ("Gt", "900", "900", False),
        ("Gt", "99", "100", True),
        ("Gt", str(2**63 - 2), str(2**63 - 1), True),
    ],
)
def test_a_taint_may_be_tolerated_below_or_above_a_number(
    operator: str, value: str, taint: str, *, tolerated: bool
) -> None:
    assert _tolerated(operator, value, taint) is tolerated


@pytest.mark.parametrize("text", ["", "high", "-", "-0", "007", "+7", "7.5", " 7", "٧", str(-(2**63) - 1)])
def test_what_is_no_whole_number_is_neither_below_nor_above_one(text: str) -> None:
    assert not _tolerated("Lt", "900", text)
    assert not _tolerated("Gt", text, "900")


def _tolerated(operator: str, value: str, taint: str) -> bool:
    toleration = Toleration(key="sla", operator=operator, value=value, effect="NoSchedule")
    return tolerates(toleration, Taint(key="sla", value=taint, effect=Effect.NO_SCHEDULE))
