"""Feature gates that the file names: none is taken without a word, and those that need each other come together."""

import pytest

from events.json_object import JsonObject
from ops.production.configuration.configuration_file import ConfigurationBroken, ReadConfiguration, configuration_of
from ops.production.configuration.gate_words import GATE_WORDS
from ops.production.configuration.gates import LOCKED, NEEDS, RENAMED, WITHOUT_MEANING
from ops.production.configuration.page import page
from projections.feature_gates import DEFAULTS


def read(**gates: bool) -> ReadConfiguration:
    return configuration_of({"featureGates": gates}, "it")


def problem(**gates: bool) -> str:
    with pytest.raises(ConfigurationBroken) as refused:
        read(**gates)
    return refused.value.problem


def test_a_gate_that_nobody_knows_is_refused_with_the_one_that_may_be_meant() -> None:
    assert problem(PartialAdmision=False) == (
        "featureGates.PartialAdmision: there is no such feature gate: write PartialAdmission, or leave it out"
    )
    assert problem(Nonsense=True) == "featureGates.Nonsense: there is no such feature gate: leave it out"


@pytest.mark.parametrize("name", ["AllAlpha", "AllBeta"])
def test_gates_are_not_turned_on_all_at_once(name: str) -> None:
    assert problem(**{name: True}) == f"featureGates.{name}: is not done: name each feature gate that you want"


def test_gates_of_kueue_s_that_mean_nothing_here_are_taken_and_named() -> None:
    found = read(FastQuotaReleaseInPodIntegration=True, PartialAdmission=False, ShortWorkloadNames=False)
    assert found.ignored == ("featureGates.FastQuotaReleaseInPodIntegration", "featureGates.ShortWorkloadNames")
    assert found.settings.gates == {"PartialAdmission": False}


def test_a_gate_that_is_called_otherwise_now_means_the_one_that_took_its_place() -> None:
    found = read(DynamicResourceAllocation=False, DRAExtendedResources=False)
    assert found.settings.gates == {"KueueDRAIntegration": False, "KueueDRAIntegrationExtendedResource": False}
    assert found.ignored == ()
    assert read(DynamicResourceAllocation=True, KueueDRAIntegration=True).settings.gates == {
        "KueueDRAIntegration": True
    }
    assert problem(DynamicResourceAllocation=True, KueueDRAIntegration=False) == (
        "featureGates.DynamicResourceAllocation: is called KueueDRAIntegration now, which says false: leave one of both out"
    )


@pytest.mark.parametrize("name", sorted(LOCKED))
def test_a_gate_that_kueue_has_locked_can_not_be_turned_off(name: str) -> None:
    found = read(**{name: True})
    assert (found.settings.gates, found.ignored) == ({}, ())
    wanted = f"cannot set feature gate {name} to false, feature is locked to true"
    assert problem(**{name: False}) == f"featureGates.{name}: {wanted}"


@pytest.mark.parametrize(
    ("gates", "gate", "needed"),
    [
        (
            {"ElasticJobsViaWorkloadSlicesWithTAS": True, "ElasticJobsViaWorkloadSlices": False},
            "ElasticJobsViaWorkloadSlicesWithTAS",
            "ElasticJobsViaWorkloadSlices",
        ),
        ({"TASProfileMixed": True, "TopologyAwareScheduling": False}, "TASProfileMixed", "TopologyAwareScheduling"),
        (
            {"TASFailedNodeReplacementFailFast": True, "TASFailedNodeReplacement": False},
            "TASFailedNodeReplacementFailFast",
            "TASFailedNodeReplacement",
        ),
        (
            {"DRAExtendedResources": True, "DynamicResourceAllocation": False},
            "KueueDRAIntegrationExtendedResource",
            "KueueDRAIntegration",
        ),
    ],
)
def test_a_gate_needs_others(gates: dict[str, bool], gate: str, needed: str) -> None:
    assert problem(**gates) == f"featureGates.{gate}: requires {needed} to be enabled"


def test_a_gate_that_is_on_by_default_follows_what_it_needs_without_a_word() -> None:
    assert read(TopologyAwareScheduling=False).settings.gates == {"TopologyAwareScheduling": False}


def test_pods_are_not_waited_for_with_the_gate_that_says_so() -> None:
    said: JsonObject = {"waitForPodsReady": {"timeout": "5m"}}
    off = configuration_of({**said, "featureGates": {"DisableWaitForPodsReady": True}}, "it")
    assert (off.settings.pods_ready, off.ignored) == (None, ())
    assert configuration_of(said, "it").settings.pods_ready is not None


def test_each_gate_is_of_one_sort() -> None:
    sorts = [set(DEFAULTS), set(RENAMED), LOCKED, WITHOUT_MEANING]
    assert len(set().union(*sorts)) == sum(map(len, sorts))
    assert {*NEEDS, *(one for some in NEEDS.values() for one in some), *RENAMED.values()} <= set(DEFAULTS)


def test_every_gate_that_counts_is_on_the_page_with_its_default_and_what_it_turns_on() -> None:
    rows = [line.split(" | ") for line in page().splitlines()]
    told = {row[0].strip("|` "): row[1] for row in rows if row[0].startswith("| `") and row[0][3].isupper()}
    assert {gate: said == "on" for gate, said in told.items()} == DEFAULTS
    assert GATE_WORDS.keys() == DEFAULTS.keys()
    assert all(f"`{gate}`" in page() for gate in LOCKED | WITHOUT_MEANING | RENAMED.keys())
