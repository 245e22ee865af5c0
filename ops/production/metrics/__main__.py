"""`python -m ops.production.metrics`: write docs/metrics.md, and the runbooks of the alerts into docs/operations.md."""

from pathlib import Path

from ops.production.metrics.alert_rules import table
from ops.production.metrics.page import page

DOCS = Path(__file__).parents[3] / "docs"
PAGE, OPERATIONS = DOCS / "metrics.md", DOCS / "operations.md"
BEGIN, END = "<!-- alerts: python -m ops.production.metrics -->\n", "<!-- end of alerts -->\n"


def with_runbooks(text: str) -> str:
    """The page on operations with the runbooks as they are now."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


def main() -> None:
    """Write the pages."""
    PAGE.write_text(page(), encoding="utf-8")
    OPERATIONS.write_text(with_runbooks(OPERATIONS.read_text(encoding="utf-8")), encoding="utf-8")
    print(PAGE, OPERATIONS, sep="\n")


if __name__ == "__main__":
    main()
