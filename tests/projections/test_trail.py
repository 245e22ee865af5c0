"""What was changed can be taken back, from the very first change on.

Rule: docs/rules/log.md#undo
"""

from projections.trail import Trail


def test_a_trial_takes_back_all_that_was_changed_in_it_also_where_nothing_was_before() -> None:
    trail, table, row, owners = Trail(), {"kept": 1, "dropped": 2}, [1, 2], {"team": {"a": None}}
    with trail.trial():
        trail.put(table, "kept", 5)
        trail.put(table, "new", 6)
        trail.drop(table, "dropped")
        trail.drop(table, "never there")
        trail.set_item(row, 1, 7)
        trail.take(owners, "team", "a")
        trail.add(owners, "other", "b")
        assert (table, row, owners) == ({"kept": 5, "new": 6}, [1, 7], {"other": {"b": None}})
        trail.clear(table)
        assert not table
    assert (table, row, owners) == ({"kept": 1, "dropped": 2}, [1, 2], {"team": {"a": None}})


def test_what_is_kept_of_a_trial_goes_with_the_one_around_it() -> None:
    trail, table = Trail(), dict[str, int]()
    with trail.trial():
        with trail.trial() as inner:
            trail.put(table, "a", 1)
            inner.keep()
        assert table == {"a": 1}
    assert not table
