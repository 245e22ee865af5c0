"""Histories in which pods claim devices: they do, and what would be wrong about it breaks a law."""

import pytest
from msgspec.structs import replace

from events.amount import Requests
from events.api.claims import ApiResourceClaim
from events.claims import ClaimedDevice, ResourceClaimObserved
from events.codec import encode
from events.commit import Sighting
from events.object_version import ObjectVersion
from events.subjects import FACTS
from ops.sandbox.embedded_cluster.controllers.resource_claims import CLAIMS
from ops.sandbox.embedded_cluster.store import ObjectChange
from ops.sandbox.simulate.claim_laws import devices_held_twice
from ops.sandbox.simulate.claimed_devices import RESOURCE, has_claims
from ops.sandbox.simulate.fault_plan import has_racks
from ops.sandbox.simulate.history import play
from ops.sandbox.simulate.platform import platform_of
from projections.quota import effective_requests
from services.runtime.log_port import Entry
from services.watcher.claims import claim_book, held_devices

SPAN = 40_000
SEEDS = [seed for seed in range(1, 60) if has_claims(seed) and not has_racks(seed)]
SEED = SEEDS[0]


def test_claims_come_with_cards_and_without() -> None:
    assert {bool(platform_of(seed, SPAN).cards) for seed in SEEDS} == {True, False}


def test_a_history_with_claims_has_nothing_wrong() -> None:
    assert play(SEED, SPAN, []).broken == ()


def test_a_history_with_claims_in_which_pods_have_to_be_ready_in_time_ends_and_has_nothing_wrong() -> None:
    seed, span = (
        447,
        108_000,
    )  # With two devices on each node some of its jobs would be stopped and tried again for ever.
    assert has_claims(seed) and not has_racks(seed) and platform_of(seed, span).settings.pods_ready is not None
    assert play(seed, span, []).broken == ()


def test_a_device_that_is_not_told_to_be_free_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    told = held_devices.claim_fact

    def for_ever(found: ApiResourceClaim) -> ResourceClaimObserved:
        # As if all claims were one and the same device.
        fact = told(found)
        return replace(fact, devices=tuple(replace(one, pool="p", device="d") for one in fact.devices[:1]))

    monkeypatch.setattr(claim_book, "claim_fact", for_ever)
    assert any("is held by two claims" in one for one in play(SEED, SPAN, []).broken)


def held_at(version: int, name: str, device: str) -> bytes:
    about = ObjectVersion(kind="ResourceClaim", namespace="default", name=name, uid=name, version=version)
    given = (ClaimedDevice(driver="d", pool="p", device=device),)
    fact = ResourceClaimObserved(namespace="default", name=name, uid=name, devices=given)
    return encode(Sighting(id=name, at=version, author="watcher", about=about, fact=fact))


def entries_of(*told: bytes) -> list[Entry]:
    return [
        Entry(stream=FACTS, sequence=number, subject="", message_id="", data=data)
        for number, data in enumerate(told, start=1)
    ]


def gone_at(version: int, name: str) -> ObjectChange:
    return ObjectChange(version=version, key=CLAIMS, type="DELETED", object={"metadata": {"uid": name}})


def test_a_claim_that_was_gone_long_before_a_paused_watcher_told_of_it_holds_nothing() -> None:
    log = entries_of(held_at(20, "new", "g0"), held_at(10, "old", "g0"))
    assert list(devices_held_twice(log, [gone_at(15, "old")])) == []


@pytest.mark.parametrize(
    ("told", "gone"),
    [
        pytest.param((("new", 20), ("old", 10)), (), id="it is still there"),
        pytest.param((("new", 20), ("old", 10)), (gone_at(21, "old"),), id="it ended after all that was told"),
        pytest.param(
            (("old", 10), ("new", 20)), (gone_at(15, "old"),), id="it was told in time, and not that it ended"
        ),
    ],
)
def test_two_claims_with_one_device_break_a_law(
    told: tuple[tuple[str, int], ...], gone: tuple[ObjectChange, ...]
) -> None:
    log = entries_of(*(held_at(version, name, "g0") for name, version in told))
    (found,) = devices_held_twice(log, gone)
    assert found.startswith("FACTS/2: device") and found.endswith("is held by two claims")


def test_a_slice_that_is_not_told_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    told = held_devices.slice_fact
    monkeypatch.setattr(claim_book, "slice_fact", lambda found: replace(told(found), devices=()))
    assert any(one.startswith("slices publish") for one in play(SEED, SPAN, []).broken)


def test_who_is_charged_less_than_its_pods_claim_breaks_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_pod(requests: Requests, count: int) -> Requests:
        return {name: amount if name == RESOURCE else amount * count for name, amount in requests.items()}

    monkeypatch.setattr(effective_requests, "scale_requests", one_pod)
    assert any("and its pods claim" in one for seed in SEEDS[:4] for one in play(seed, SPAN, []).broken)
