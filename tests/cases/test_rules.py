"""Tables of situations for the rules in docs/rules: what must come out of each, by the code that production runs."""

from pathlib import Path

import pytest

from events.json_object import JsonObject
from tests.cases.situation import domains_of, flavor_of, outcome, played, pods_of, read_table

TABLES = sorted(Path(__file__).parent.glob("*.yaml"))
CASES = [(table.stem, case) for table in TABLES for case in read_table(table.read_text())]


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{table}: {case['when']}" for table, case in CASES])
def test_a_situation_comes_out_as_its_rule_says(case: JsonObject) -> None:
    at = played(case)
    found, wanted = outcome(at), case["then"]
    for word in ("hold", "preempted"):
        assert found[word] == (sorted(wanted.get(word, [])) if word == "hold" else wanted.get(word, {})), word
    for name, told in wanted.get("wait", {}).items():
        said = found["wait"].get(name, "nothing is told")
        assert is_said(said, told), (name, said)
    for name, message in wanted.get("told", {}).items():
        assert found["told"][name] == message, name
    for name, hosts in wanted.get("domains", {}).items():
        assert domains_of(at, name) == hosts, name
    for name, flavor in wanted.get("flavor", {}).items():
        assert flavor_of(at, name) == flavor, name
    for name, pods in wanted.get("pods", {}).items():
        assert pods_of(at, name) == pods, name


def is_said(said: str, told: str) -> bool:
    """Whether it is what a case expects: a reason, a reason with all of its message, or some words of that."""
    reason, _, message = said.partition(": ")
    return told in (reason, said) or (not told.startswith(reason) and told in message)
