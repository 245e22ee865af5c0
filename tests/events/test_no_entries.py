"""Fields without entries hold one empty table together, which nobody can put anything into."""

import msgspec
import pytest

from events.no_entries import no_entries


def test_all_hold_the_same_empty_table_and_it_is_written_as_one() -> None:
    assert no_entries(int) is no_entries(str)
    assert no_entries(int) == {} and msgspec.json.encode(no_entries(int)) == b"{}"


def test_who_changes_it_in_place_is_told() -> None:
    with pytest.raises(TypeError, match="everybody holds"):
        no_entries(int)["cpu"] = 1
    with pytest.raises(TypeError, match="everybody holds"):
        no_entries(int).update({"cpu": 1})
    with pytest.raises(TypeError, match="everybody holds"):
        no_entries(int).setdefault("cpu", 1)
    assert no_entries(int) == {}
