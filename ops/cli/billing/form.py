"""The forms of a bill: more than other answers have, for spreadsheets and for FinOps tools."""

import sys
from enum import StrEnum


class BillForm(StrEnum):
    """How a bill is handed out."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    YAML = "yaml"
    PARQUET = "parquet"
    FOCUS = "focus"


def printed(text: str) -> None:
    """Hand a bill out on standard output: in UTF-8 whatever the locale is, as the same bill has the same bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
