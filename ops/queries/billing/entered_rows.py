"""Rows of what operators write in YAML: mappings with known words, each a text. Raises `BillRefused` with file, row and word."""

from collections.abc import Set
from pathlib import Path
from typing import Any

from ops.files.reading import Unreadable, check_each_once, text_of, yaml_as_written, yaml_documents
from ops.queries.billing.problems import BillRefused
from projections.billing.terms.money import BadAmount, entered_money

Row = dict[str, str]


def terms_of(path: Path) -> Any:
    """What a file has, each word and number as it is written, and no word of a mapping twice. Raises `BillRefused`."""
    try:
        text = text_of(path)
        for document in yaml_documents(text):
            check_each_once(document)
        return yaml_as_written(text)
    except Unreadable as problem:
        raise BillRefused(f"{path} can't be read: {problem.what}") from problem


def rows_of(path: Path, name: str, found: object, *, needed: Set[str], may: Set[str] = frozenset()) -> list[Row]:
    """A list of mappings that have all words that are needed, and no others than those and those they may have."""
    known = ", ".join(sorted(needed | may))
    if not isinstance(found, list):
        raise BillRefused(f"{path}: {name} has to be a list of mappings with {known}")
    return [_row(f"{path}: {name} {place}", row, needed, needed | may) for place, row in enumerate(found, 1)]


def amount_of(where: str, row: Row, name: str, *, least: int = 0) -> str:
    """A plain decimal that is not less than so many units of 10^-10."""
    text = row.get(name, "0")
    try:
        amount = entered_money(text)
    except BadAmount as bad:
        raise BillRefused(f"{where}: {name}: {bad}") from bad
    if amount < least:
        raise BillRefused(f"{where}: {name} {text} has to be {'above zero' if least else 'zero or more'}")
    return text


def _row(where: str, row: Any, needed: Set[str], known: Set[str]) -> Row:
    if not isinstance(row, dict):
        raise BillRefused(f"{where} has to be a mapping with {', '.join(sorted(known))}")
    strange, missing = sorted({str(word) for word in row} - known), sorted(needed - set(row))
    if strange or missing:
        wrong = f"has {', '.join(strange)}" if strange else f"lacks {', '.join(missing)}"
        raise BillRefused(f"{where} {wrong}: it may have {', '.join(sorted(known))}")
    return {str(word): str(value) for word, value in row.items()}
