"""Values that Kueue refuses or replaces are refused or replaced here."""

import pytest

from events.json_object import JsonObject
from events.settings import FairStrategy
from ops.production.configuration.configuration_file import ConfigurationBroken, configuration_of

FINAL, INITIAL = FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FairStrategy.LESS_THAN_INITIAL_SHARE


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (
            {"waitForPodsReady": {"timeout": "0s"}},
            "waitForPodsReady.timeout: Required value: write a duration of more than 0, such as 30m",
        ),
        (
            {"fairSharing": {"preemptionStrategies": [INITIAL, FINAL]}},
            f"fairSharing.preemptionStrategies: Unsupported value: [{INITIAL}, {FINAL}]: write one of both, or [{FINAL}, {INITIAL}]",
        ),
        (
            {"fairSharing": {"preemptionStrategies": [INITIAL, INITIAL]}},
            f"fairSharing.preemptionStrategies: Unsupported value: [{INITIAL}, {INITIAL}]: write one of both, or [{FINAL}, {INITIAL}]",
        ),
        (
            {"resources": {"transformations": [{"input": "a"}, {"input": "b"}, {"input": "a"}]}},
            'resources.transformations[2].input: Duplicate value: "a"',
        ),
    ],
)
def test_what_kueue_refuses_is_refused(said: JsonObject, problem: str) -> None:
    with pytest.raises(ConfigurationBroken) as refused:
        configuration_of(said, "it")
    assert refused.value.problem == problem


@pytest.mark.parametrize("strategies", [(FINAL,), (INITIAL,), (FINAL, INITIAL)])
def test_three_ways_to_compare_shares_may_be_named(strategies: tuple[FairStrategy, ...]) -> None:
    said = {"fairSharing": {"preemptionStrategies": list(strategies)}}
    assert configuration_of(said, "it").settings.fair_strategies == strategies


@pytest.mark.parametrize("part", [{}, {"enable": True}, {"preemptionStrategies": []}])
def test_where_no_strategy_is_named_both_are_tried(part: JsonObject) -> None:
    found = configuration_of({"fairSharing": part}, "it").settings
    assert (found.fair_sharing, found.fair_strategies) == (True, (FINAL, INITIAL))


def test_past_usage_that_is_to_be_shown_all_the_time_is_shown_every_five_minutes() -> None:
    for text in ("0s", "0"):
        said = {"admissionFairSharing": {"usageHalfLifeTime": "1h", "usageSamplingInterval": text}}
        found = configuration_of(said, "it").settings.admission_fair_sharing
        assert found is not None and found.sampling == 300_000


def test_what_is_off_is_not_held_to_its_values() -> None:
    said = {
        "waitForPodsReady": {"enable": False, "timeout": "0s"},
        "fairSharing": {"enable": False, "preemptionStrategies": [INITIAL, FINAL]},
    }
    found = configuration_of(said, "it").settings
    assert (found.pods_ready, found.fair_sharing, found.fair_strategies) == (None, False, (FINAL, INITIAL))
