"""The forms of a bill: more than other answers have, for spreadsheets and for FinOps tools."""

from enum import StrEnum


class BillForm(StrEnum):
    """How a bill is handed out."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    YAML = "yaml"
    PARQUET = "parquet"
    FOCUS = "focus"
