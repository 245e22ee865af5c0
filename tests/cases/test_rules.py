"""Tables of situations for the rules in docs/rules: what must come out of each, by the code that production runs."""

from pathlib import Path

import pytest

from events.json_object import JsonObject
from tests.cases.situation import domains_of, flavor_of, outcome, played, read_table

TABLES = sorted(Path(__file__).parent.glob("*.yaml"))
CASES = [(table.stem, case) for table in TABLES for case in read_table(table.read_text())]


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{table}: {case['when']}" for table, case in CASES])
def test_a_situation_comes_out_as_its_rule_says(case: JsonObject) -> None:
    at = played(case)
    found, wanted = outcome(at), case["then"]
    for word in ("hold", "preempted"):
        assert found[word] == (sorted(wanted.get(word, [])) if word == "hold" else wanted.get(word, {})), word
    for name, told in wanted.get("wait", {}).items():
        assert told in found["wait"].get(name, "nothing is told"), name
    for name, message in wanted.get("told", {}).items():
        assert found["told"][name] == message, name
    for name, hosts in wanted.get("domains", {}).items():
        assert domains_of(at, name) == hosts, name
    for name, flavor in wanted.get("flavor", {}).items():
        assert flavor_of(at, name) == flavor, name
