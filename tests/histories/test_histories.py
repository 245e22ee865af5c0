"""Every log that was ever written folds for ever; who changes decisions changes the version of the rules."""

import json

import pytest

from events.codec import decode_event, encode
from events.rules import RULES
from ops.queries.replay import fold_partition
from tests.histories.pins import PARTITIONS, decisions, read_pins, states
from tests.histories.samples import event_types, tag_of
from tests.histories.stored import read_events, read_history, versions

HOW = (
    "If that is meant: give events/rules.py the next version of RULES where decisions or what a state holds change, run "
    "`python -m tests.histories`, and say in CHANGELOG.md what is decided otherwise. If it is not meant, undo it."
)


@pytest.mark.parametrize("version", versions())
def test_a_stored_log_folds_to_the_state_that_it_always_folded_to(version: str) -> None:
    pinned = read_pins()["states"]
    for partition, found in states(read_history(version)).items():
        assert found == pinned[f"{version} {partition}"], f"the log of rules {version} folds to another state. {HOW}"


@pytest.mark.parametrize("version", versions())
def test_every_event_that_was_ever_written_is_read_and_keeps_what_it_says(version: str) -> None:
    for data in read_events(version):
        again = json.loads(encode(decode_event(data)))
        said = json.loads(data)
        if again["type"] == said["type"]:
            assert {name: again.get(name) for name in said} == said


def test_an_event_of_every_type_is_stored() -> None:
    written = {json.loads(data)["type"] for version in versions() for data in read_events(version)}
    lacking = sorted(tag_of(one) for one in event_types() if tag_of(one) not in written)
    assert not lacking, (
        f"no stored history holds {', '.join(lacking)}: run `python -m tests.histories` and commit its files"
    )


def test_what_is_decided_changes_only_together_with_the_version_of_the_rules() -> None:
    found = decisions({version: read_history(version) for version in versions()})
    pinned = read_pins()["decisions"]
    assert RULES in pinned, f"RULES is {RULES}, of which nothing is stored: run `python -m tests.histories`"
    assert found == pinned[RULES], f"decisions have changed while RULES is still {RULES}. {HOW}"


@pytest.mark.parametrize("version", versions())
def test_a_log_says_under_which_rules_it_was_decided_and_each_difference_does(version: str) -> None:
    entries = read_history(version)
    for partition in PARTITIONS:
        _, found = fold_partition(partition, entries, verify=True)
        assert found.rules == (version,)
        assert {one.rules for one in found.differences} <= {version}
        assert version != RULES or found.differences == (), "what these rules decided they decide again"
