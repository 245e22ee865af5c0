"""Who claims devices (resource.k8s.io) waits, in Kueue's words where its gate is off, until the gates let it queue."""

import msgspec

from events.settings import SettingsObserved
from projections.feature_gates import DEFAULTS
from services.queue_manager.enqueue import standing_obstacle
from tests.services.queue_manager.waiting_room import SPEC, Room, submitted

CLAIMING = msgspec.structs.replace(SPEC, not_done=("ResourceClaimsNotSupported",))
WORDS = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
GATE_OFF = SettingsObserved(gates={"KueueDRAIntegration": False})
BOTH_OFF = SettingsObserved(gates={"KueueDRAIntegration": False, "KueueDRARejectWorkloadsWhenDRADisabled": False})


def test_both_gates_are_on_by_default_as_in_kueue() -> None:
    assert DEFAULTS["KueueDRAIntegration"] and DEFAULTS["KueueDRARejectWorkloadsWhenDRADisabled"]


def test_with_the_gate_off_who_claims_devices_is_misconfigured_in_the_words_of_kueue() -> None:
    waiting = Room(GATE_OFF, submitted(CLAIMING))
    waiting.steps()
    assert waiting.told("QuotaReserved") == ("False", "Misconfigured", WORDS)
    assert standing_obstacle(waiting.world, waiting.workload) == ("Misconfigured", WORDS), "explain says the same"
    assert not waiting.world.lines.of("cq").waiting


def test_with_the_reject_gate_off_as_well_claims_are_ignored() -> None:
    waiting = Room(BOTH_OFF, submitted(CLAIMING))
    waiting.steps()
    assert waiting.workload.line == "cq" and waiting.world.lines.of("cq").waiting


def test_the_reject_gate_alone_lets_nobody_in() -> None:
    waiting = Room(SettingsObserved(gates={"KueueDRARejectWorkloadsWhenDRADisabled": False}), submitted(CLAIMING))
    waiting.steps()
    told = waiting.told("QuotaReserved")
    assert told is not None and told[1] == "ResourceClaimsNotSupported"


def test_what_else_is_not_done_is_refused_though_claims_are_ignored() -> None:
    spec = msgspec.structs.replace(SPEC, not_done=("ResourceClaimsNotSupported", "WorkloadOfAnotherKindNotSupported"))
    let_in = Room(BOTH_OFF, submitted(spec))
    let_in.steps()
    assert let_in.workload.line == "cq", "codes that this version does not know stand in nobody's way"
    refused = Room(
        BOTH_OFF,
        submitted(msgspec.structs.replace(SPEC, not_done=("ElasticJobNotSupported", "ResourceClaimsNotSupported"))),
    )
    refused.steps()
    told = refused.told("QuotaReserved")
    assert told is not None and told[1] == "ElasticJobNotSupported"


def test_who_was_refused_is_parked_anew_and_queued_when_the_gates_change() -> None:
    waiting = Room(submitted(CLAIMING))
    waiting.steps()
    assert list(waiting.world.work.take("reader"))
    waiting.tell(GATE_OFF)
    assert list(waiting.world.work.waiting("reader")) == [waiting.workload.key], (
        "a change of settings has it looked at again"
    )
    waiting.steps()
    assert waiting.told("QuotaReserved") == ("False", "Misconfigured", WORDS)
    waiting.tell(BOTH_OFF)
    waiting.steps()
    assert waiting.world.lines.of("cq").waiting
