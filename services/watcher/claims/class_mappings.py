"""Which resource of quota devices of a class are counted as, by the configuration.

Rule: docs/rules/claims.md#mappings
"""

from collections.abc import Iterator

import msgspec

from events.claims import DeviceSource
from events.settings import SettingsObserved
from projections.claims.counted import resource_of_class
from projections.feature_gates import enabled

EXTENDED = "KueueDRAIntegrationExtendedResource"
PARTITIONABLE = "KueueDRAIntegrationPartitionableDevices"
CONSUMABLE = "KueueDRAIntegrationConsumableCapacity"


class CountedSource(msgspec.Struct, frozen=True):
    """What of a device is counted, and as which resource."""

    resource: str
    source: DeviceSource


class ClassMappings:
    """The mappings of the configuration, as far as their gates are on."""

    def __init__(self, settings: SettingsObserved) -> None:
        self._settings, self._mappings = settings, settings.device_class_mappings
        self.extended = enabled(settings, EXTENDED)
        self._partitionable, self._consumable = enabled(settings, PARTITIONABLE), enabled(settings, CONSUMABLE)

    def resource(self, device_class: str) -> str:
        """The resource of the first mapping that names a class; empty where none does."""
        return resource_of_class(self._settings, device_class)

    def counters(self, device_class: str) -> list[CountedSource]:
        """The counters that are counted of devices of a class, each as the resource of its own mapping."""
        found = self._sources(device_class) if self._partitionable else ()
        return [one for one in found if one.source.counter]

    def capacities(self, device_class: str) -> list[CountedSource]:
        """The capacities that are counted of devices of a class; no class is in two mappings of such."""
        found = self._sources(device_class) if self._consumable else ()
        return [one for one in found if one.source.capacity]

    def drivers(self, device_class: str) -> list[str]:
        """The drivers whose devices are counted by a source; none where the devices themselves are counted."""
        return [one.source.driver for one in (*self.counters(device_class), *self.capacities(device_class))]

    def _sources(self, device_class: str) -> Iterator[CountedSource]:
        for mapping in self._mappings:
            if device_class in mapping.classes:
                yield from (CountedSource(mapping.resource, one) for one in mapping.sources)
