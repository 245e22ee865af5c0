"""Who claims devices (resource.k8s.io) waits where what it claims can't be counted, in Kueue's words, and where the gates say so."""

from msgspec.structs import replace

from events.claims import PodClaim, PodClaims
from events.pod_set import PodSet
from events.quota import AdmissionCheckObserved, CheckRule
from events.settings import SettingsObserved
from events.workload import WorkloadChanged
from projections.feature_gates import DEFAULTS
from projections.queues.waiting import beside
from services.queue_manager.enqueue import standing_obstacle
from tests.services.queue_manager.waiting_room import KEY, SHAPE, SPEC, Room, submitted

CLAIM = PodClaim(name="gpu", template="one")
ASKED = PodSet(name="main", count=1, shape=replace(SHAPE, claims=(CLAIM,)))
CLAIMING = replace(SPEC, pod_sets=(ASKED,))
COUNTED = replace(SPEC, pod_sets=(replace(ASKED, claims=PodClaims(charged={"gpus": 1})),))
WHY = 'spec.podSets[0]: Not found: "DeviceClass a is not mapped in DRA configuration for podset main"'
REFUSED = replace(CLAIMING, claims_refused=WHY)
FORMER = replace(SPEC, not_done=("ResourceClaimsNotSupported",))
WORDS = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
GATE_OFF = SettingsObserved(gates={"KueueDRAIntegration": False})
BOTH_OFF = SettingsObserved(gates={"KueueDRAIntegration": False, "KueueDRARejectWorkloadsWhenDRADisabled": False})


def test_the_gates_have_the_defaults_that_they_have_in_kueue() -> None:
    names = ("", "ConsumableCapacity", "ExtendedResource", "PartitionableDevices")
    found = [DEFAULTS[f"KueueDRAIntegration{name}"] for name in names]
    assert found == [True, False, True, True] and DEFAULTS["KueueDRARejectWorkloadsWhenDRADisabled"]


def test_who_claims_what_can_not_be_counted_is_misconfigured_until_it_can() -> None:
    waiting = Room(submitted(REFUSED))
    waiting.steps()
    assert waiting.told("QuotaReserved") == ("False", "Misconfigured", WHY)
    assert standing_obstacle(waiting.world, waiting.workload) == ("Misconfigured", WHY), "explain says the same"
    assert not waiting.world.lines.of("cq").waiting
    waiting.tell(WorkloadChanged(workload=KEY, spec=COUNTED))
    waiting.steps()
    assert waiting.world.lines.of("cq").waiting


def test_who_claims_what_can_not_be_counted_is_in_no_queue_and_has_no_checks_yet() -> None:
    """As under Kueue, which looks at claims before it does anything else about a workload."""
    slow = AdmissionCheckObserved(name="slow", controller="x")
    waiting = Room(slow, submitted(REFUSED), checks=(CheckRule(name="slow"),))
    waiting.steps()
    assert beside(waiting.world, "cq") == []
    assert waiting.workload.checks == {}
    waiting.tell(WorkloadChanged(workload=KEY, spec=COUNTED))
    waiting.steps()
    assert list(waiting.workload.checks) == ["slow"]


def test_another_reason_why_it_can_not_be_counted_is_told_anew() -> None:
    waiting = Room(submitted(REFUSED))
    waiting.steps()
    waiting.tell(WorkloadChanged(workload=KEY, spec=replace(REFUSED, claims_refused="another")))
    waiting.steps()
    assert waiting.told("QuotaReserved") == ("False", "Misconfigured", "another")


def test_without_the_observability_gate_it_is_inadmissible_as_in_kueue() -> None:
    waiting = Room(SettingsObserved(gates={"UnadmittedWorkloadsObservability": False}), submitted(REFUSED))
    waiting.steps()
    assert waiting.told("QuotaReserved") == ("False", "Inadmissible", WHY)


def test_with_the_gate_off_who_claims_devices_is_misconfigured_in_the_words_of_kueue() -> None:
    one_of_two = replace(SPEC, pod_sets=(*SPEC.pod_sets, replace(ASKED, name="more")))
    for spec in (CLAIMING, one_of_two, FORMER):
        waiting = Room(GATE_OFF, submitted(spec))
        waiting.steps()
        assert waiting.told("QuotaReserved") == ("False", "Misconfigured", WORDS)
        assert standing_obstacle(waiting.world, waiting.workload) == ("Misconfigured", WORDS), "explain says the same"
        assert not waiting.world.lines.of("cq").waiting


def test_with_the_reject_gate_off_as_well_claims_are_ignored() -> None:
    for spec in (CLAIMING, FORMER):
        waiting = Room(BOTH_OFF, submitted(spec))
        waiting.steps()
        assert waiting.workload.line == "cq" and waiting.world.lines.of("cq").waiting


def test_what_an_older_watcher_said_of_claims_holds_until_one_of_today_tells_of_them() -> None:
    waiting = Room(submitted(FORMER))
    waiting.steps()
    told = waiting.told("QuotaReserved")
    assert told is not None and told[1] == "ResourceClaimsNotSupported"
    waiting.tell(WorkloadChanged(workload=KEY, spec=COUNTED))
    waiting.steps()
    assert waiting.world.lines.of("cq").waiting


def test_what_else_is_not_done_is_refused_though_claims_are_ignored() -> None:
    let_in = Room(BOTH_OFF, submitted(replace(CLAIMING, not_done=("WorkloadOfAnotherKindNotSupported",))))
    let_in.steps()
    assert let_in.workload.line == "cq", "codes that this version does not know stand in nobody's way"
    refused = Room(BOTH_OFF, submitted(replace(CLAIMING, not_done=("ElasticJobNotSupported",))))
    refused.steps()
    told = refused.told("QuotaReserved")
    assert told is not None and told[1] == "ElasticJobNotSupported"


def test_who_was_refused_is_parked_anew_and_queued_when_the_gates_change() -> None:
    waiting = Room(submitted(REFUSED))
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
