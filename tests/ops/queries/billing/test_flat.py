"""A bill as a flat table: a line's period is the one that was billed, to its end."""

from events.timestamp import parse_timestamp
from ops.queries.billing.flat import columns, lines
from projections.billing.entries.entry import Window
from projections.billing.lines.totals import bill
from tests.laws.test_ledger import lived


def test_the_period_of_a_line_contains_its_end() -> None:
    _, _, ledger, whole = lived(3)
    window = Window(whole.since, whole.since + (whole.until - whole.since) // 1000 * 1000 + 1)
    found = bill(ledger, window, ("tenant",))
    names = columns(found)
    for line in lines(found):
        row = dict(zip(names, line, strict=True))
        assert (parse_timestamp(row["since"]), parse_timestamp(row["until"])) == (window.since, window.until)
