"""A table of small data centres: what is asked, and where the pods lie."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.projections.topology.makers import flavor_with, gates, placed, request, told

CASES = yaml.safe_load((Path(__file__).parent / "places.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['rule']}: {case['when']}")
def test_pods_lie_where_the_rule_says(case: dict[str, Any]) -> None:
    flavor = flavor_with(case["levels"], case["nodes"], case.get("used"))
    asks = case.get("asks") or {"main": case["ask"]}
    with_gates = gates(*case.get("gates", ()), off=case.get("without", ()))
    found = placed(flavor, *(request(name, **asked) for name, asked in asks.items()), with_gates=with_gates)
    wanted = case["then"] if "asks" in case else {"main": case["then"]}
    assert {name: told(one) for name, one in found.items()} == wanted
