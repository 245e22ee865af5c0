"""A configuration file means what its version means to Kueue."""

import pytest

from events.json_object import JsonObject
from events.settings import FairStrategy, PodsReadyRule, SettingsObserved
from ops.production.configuration.configuration_file import ConfigurationBroken, configuration_of

OLDER = "config.kueue.x-k8s.io/v1beta1"
LATEST = "config.kueue.x-k8s.io/v1beta2"
BOTH = (FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FairStrategy.LESS_THAN_INITIAL_SHARE)


def read(version: str, **parts: JsonObject) -> SettingsObserved:
    return configuration_of({"apiVersion": version, "kind": "Configuration", **parts}, "it").settings


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (None, None),
        ({"timeout": "10m"}, None),
        ({"enable": False, "timeout": "10m", "blockAdmission": True}, None),
        ({"enable": True}, PodsReadyRule(timeout=300_000, recovery_timeout=None, block_admission=True)),
        (
            {"enable": True, "timeout": "10m", "recoveryTimeout": "1m", "blockAdmission": False},
            PodsReadyRule(timeout=600_000, recovery_timeout=60_000, block_admission=False),
        ),
    ],
)
def test_pods_are_waited_for_under_the_older_version_where_it_says_so_and_then_nobody_is_admitted_meanwhile(
    part: JsonObject | None, rule: PodsReadyRule | None
) -> None:
    assert read(OLDER, **({} if part is None else {"waitForPodsReady": part})).pods_ready == rule


def test_under_the_latest_version_pods_are_waited_for_anyway() -> None:
    plain = PodsReadyRule(timeout=1_800_000, recovery_timeout=None, block_admission=False)
    assert [read(one).pods_ready for one in (LATEST, "")] == [plain, plain]
    assert read(LATEST, waitForPodsReady={"timeout": "10m"}).pods_ready == PodsReadyRule(
        timeout=600_000, recovery_timeout=None, block_admission=False
    )


def test_shares_are_compared_under_the_older_version_only_where_it_says_so() -> None:
    one: JsonObject = {"preemptionStrategies": ["LessThanInitialShare"]}
    assert not read(OLDER, fairSharing=one).fair_sharing
    assert not read(OLDER, fairSharing={}).fair_sharing
    assert not read(OLDER).fair_sharing
    assert read(LATEST, fairSharing=one).fair_sharing
    plain, named = read(OLDER, fairSharing={"enable": True}), read(OLDER, fairSharing={"enable": True, **one})
    assert (plain.fair_sharing, plain.fair_strategies) == (True, BOTH)
    assert (named.fair_sharing, named.fair_strategies) == (True, (FairStrategy.LESS_THAN_INITIAL_SHARE,))


@pytest.mark.parametrize("part", ["waitForPodsReady", "fairSharing"])
def test_what_is_off_under_the_older_version_is_still_held_to_its_fields(part: str) -> None:
    with pytest.raises(ConfigurationBroken, match=part):
        read(OLDER, **{part: {"enabled": True}})
    with pytest.raises(ConfigurationBroken, match=part):
        configuration_of({"apiVersion": OLDER, part: [1]}, "it")


@pytest.mark.parametrize("version", ["foo/v1", "config.kueue.x-k8s.io/v1alpha1", "v1beta2", 7])
def test_a_version_that_nobody_knows_is_refused(version: object) -> None:
    with pytest.raises(ConfigurationBroken) as refused:
        configuration_of({"apiVersion": version, "kind": "Configuration"}, "it")
    wanted = (
        f"apiVersion: {version!r} is no version of the file: write {LATEST}, or {OLDER} where it is of the older one"
    )
    assert str(refused.value) == f"it: {wanted}"
