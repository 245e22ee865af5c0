"""What is written in pieces is, byte for byte, what is written whole: commits name its hash."""

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections import json_in_pieces
from projections.json_in_pieces import fields_as_json, rows_as_json
from projections.snapshot import tables_as_json, tables_of
from tests.stories.small_world import Story, job, platform, story


class Odd(msgspec.Struct, frozen=True, kw_only=True):
    """Fields with other names, without a value, and with tables."""

    first: int
    named: str = msgspec.field(name="another")
    table: Mapping[str, int]
    missing: int | msgspec.UnsetType = msgspec.UNSET
    last: tuple[str, ...] = ()


def whole(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


@given(st.dictionaries(st.text(), st.integers() | st.text()), st.integers(min_value=1, max_value=5))
def test_a_table_in_pieces_is_the_table_as_a_whole_whatever_its_keys_are(table: dict[str, object], rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_in_pieces, "ROWS", rows)
        assert b"".join(rows_as_json(table)) == whole(table)


@given(st.text(), st.dictionaries(st.text(), st.integers()), st.none() | st.integers())
def test_a_struct_in_pieces_is_the_struct_as_a_whole(named: str, table: dict[str, int], missing: int | None) -> None:
    odd = Odd(first=1, named=named, table=table, missing=msgspec.UNSET if missing is None else missing)
    assert b"".join(fields_as_json(odd, {})) == whole(odd)
    short = msgspec.structs.replace(odd, table={})
    assert b"".join(fields_as_json(short, {"table": rows_as_json(table)})) == whole(odd)


def test_a_world_in_pieces_is_its_tables_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_in_pieces, "ROWS", 1)
    for told in (story(), Story().told(*platform(), job("a"), job("b"), job("giant", memory=60000))):
        told.decided()
        assert b"".join(tables_as_json(told.world)) == whole(tables_of(told.world))
