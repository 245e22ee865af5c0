"""Every event has one fold."""

from typing import get_args

from events.catalogue import all_events
from events.workload_facts import WorkloadFact
from projections.evolve import FOLDS
from projections.folds.admission import AdmissionEvent
from projections.folds.claims import ClaimEvent
from projections.folds.devices import DeviceEvent
from projections.folds.dispatch import DispatchEvent
from projections.folds.lines import LineEvent
from projections.folds.objects import ObjectEvent
from projections.folds.provisioning import ProvisioningEvent
from projections.folds.slices import SliceEvent
from projections.folds.upkeep import UpkeepEvent
from projections.folds.variants import VariantEvent

ROOMS: tuple[object, ...] = (
    *(WorkloadFact, DeviceEvent, SliceEvent, VariantEvent, LineEvent, AdmissionEvent),
    *(ObjectEvent, ProvisioningEvent, DispatchEvent, UpkeepEvent, ClaimEvent),
)


def test_no_event_is_left_out() -> None:
    assert set(FOLDS) == set(all_events())


def test_no_event_is_of_two_rooms() -> None:
    events = [event for room in ROOMS for event in get_args(room)]
    assert len(events) == len(set(events))
