"""`resources.deviceClassMappings` of the configuration file: which device classes are counted as which resource of quota.

Rule: docs/rules/claims.md#mappings
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from events.claims import DeviceClassMapping, DeviceSource
from ops.production.configuration.qualified_names import LABEL, SUBDOMAIN, is_qualified
from ops.production.loaded_selectors import selectors
from projections.feature_gates import DEFAULTS
from services.watcher.claims.class_mappings import CONSUMABLE, PARTITIONABLE

_MOST_MAPPINGS, _MOST_CLASSES, _LONGEST_NAME, _LONGEST_DRIVER, _LONGEST_LABEL = 16, 8, 253, 63, 63
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class _Part(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A part of the file in which every field is known."""


class CelPart(_Part, frozen=True, kw_only=True):
    """An expression in CEL."""

    expression: str = ""
    """What holds of the devices, e.g. `device.driver == "gpu.example.com"`."""


class SelectorPart(_Part, frozen=True, kw_only=True):
    """Which devices are meant."""

    cel: CelPart = CelPart()
    """By an expression in CEL."""


class SourcePart(_Part, frozen=True, kw_only=True):
    """A counter, or a dimension of capacity, that is counted."""

    name: str = ""
    """What it is called in ResourceSlices."""
    driver: str = ""
    """The driver that publishes it."""
    device_selector: SelectorPart = SelectorPart()
    """The devices that are meant."""


class SourcesPart(_Part, frozen=True, kw_only=True):
    """What of a device is counted instead of the device: one of both."""

    counter: SourcePart | None = None
    """A counter that partitions of a device consume."""
    capacity: SourcePart | None = None
    """A dimension of the capacity of a device that many share."""


class MappingPart(_Part, frozen=True, kw_only=True):
    """Device classes that are counted as one resource."""

    name: str
    """The resource of quota."""
    device_class_names: tuple[str, ...] = ()
    """1 to 8 DeviceClasses."""
    sources: tuple[SourcesPart, ...] = ()
    """What is counted of their devices; the devices themselves where none is named."""


def device_class_mappings(parts: Sequence[MappingPart], gates: Mapping[str, bool]) -> tuple[DeviceClassMapping, ...]:
    """The mappings of the file. Raises `ValueError` naming the field, in Kueue's words."""
    if len(parts) > _MOST_MAPPINGS:
        raise ValueError(f"resources.deviceClassMappings: must have at most {_MOST_MAPPINGS} items")
    found: list[DeviceClassMapping] = []
    for index, part in enumerate(parts):
        at = f"resources.deviceClassMappings[{index}]"
        _check_resource(f"{at}.name", part.name)
        if any(one.resource == part.name for one in found):
            raise ValueError(f"{at}.name: Duplicate value: {part.name!r}")
        _check_classes(at, part)
        sources = _sources(at, part, gates)
        mapping = DeviceClassMapping(resource=part.name, classes=part.device_class_names, sources=sources)
        for place, name in enumerate(part.device_class_names):
            for before in found:
                if name in before.classes:
                    _check_shared(f"{at}.deviceClassNames[{place}]", mapping, before)
        found.append(mapping)
    return tuple(found)


def _check_resource(at: str, name: str) -> None:
    """A resource is named as a label is."""
    if len(name) > _LONGEST_NAME or not is_qualified(name):
        raise ValueError(f"{at}: {name!r} is not the name of a resource: write one such as example.com/gpu")


def _check_classes(at: str, part: MappingPart) -> None:
    names, field = part.device_class_names, f"{at}.deviceClassNames"
    if not names:
        raise ValueError(f"{field}: at least one device class name is required")
    if len(names) > _MOST_CLASSES:
        raise ValueError(f"{field}: must have at most {_MOST_CLASSES} items")
    for place, name in enumerate(names):
        if len(name) > _LONGEST_NAME or not SUBDOMAIN.fullmatch(name):
            raise ValueError(
                f"{field}[{place}]: {name!r} is not the name of a DeviceClass: write one such as gpu.example.com"
            )
        if name in names[:place]:
            raise ValueError(f"{field}[{place}]: Duplicate value: {name!r}")


def _check_shared(at: str, mapping: DeviceClassMapping, before: DeviceClassMapping) -> None:
    """A class is in two mappings only where each counts another counter of its devices."""
    counters = [one.sources[0].counter if one.sources else "" for one in (mapping, before)]
    if not all(counters):
        raise ValueError(f"{at}: device class already mapped to resource {before.resource}")
    if counters[0] == counters[1]:
        raise ValueError(f'{at}: device class already has a counter source for counter "{counters[0]}"')


def _sources(at: str, part: MappingPart, gates: Mapping[str, bool]) -> tuple[DeviceSource, ...]:
    found: list[DeviceSource] = []
    for index, one in enumerate(part.sources):
        field = f"{at}.sources[{index}]"
        if (one.counter is None) == (one.capacity is None):
            raise ValueError(f"{field}: exactly one source type must be set per entry")
        for source, kind, gate in ((one.counter, "counter", PARTITIONABLE), (one.capacity, "capacity", CONSUMABLE)):
            if source is not None:
                if not gates.get(gate, DEFAULTS[gate]):
                    raise ValueError(f"{field}.{kind}: {kind} sources require {gate} to be enabled")
                found.append(_source(f"{field}.{kind}", kind, source))
    if len({bool(one.counter) for one in found}) > 1:
        raise ValueError(f"{at}.sources: cannot mix counter and capacity sources in the same mapping")
    return tuple(found)


def _source(at: str, kind: str, source: SourcePart) -> DeviceSource:
    named = _is_label(source.name) if kind == "counter" else _is_qualified(source.name)
    if not named:
        what = (
            "of a counter: write a DNS label such as memory"
            if kind == "counter"
            else "of a capacity: write one such as memory"
        )
        raise ValueError(f"{at}.name: {source.name!r} is not the name {what}")
    if len(source.driver) > _LONGEST_DRIVER or not SUBDOMAIN.fullmatch(source.driver):
        raise ValueError(
            f"{at}.driver: {source.driver!r} is not the name of a driver: write one such as gpu.example.com"
        )
    expression, field = source.device_selector.cel.expression, f"{at}.deviceSelector.cel.expression"
    problem = selectors().problem(expression)
    if problem:
        raise ValueError(f"{field}: {problem}")
    counter, capacity = (source.name, "") if kind == "counter" else ("", source.name)
    return DeviceSource(counter=counter, capacity=capacity, driver=source.driver, selector=expression)


def _is_label(name: str) -> bool:
    return len(name) <= _LONGEST_LABEL and LABEL.fullmatch(name) is not None


def _is_qualified(name: str) -> bool:
    """Whether it is an identifier, maybe in a domain, as DRA names what devices have."""
    domain, slash, last = name.rpartition("/")
    within = not slash or (len(domain) <= _LONGEST_DRIVER and SUBDOMAIN.fullmatch(domain) is not None)
    return within and len(last) <= 32 and _IDENTIFIER.fullmatch(last) is not None  # noqa: PLR2004 - DRA's own bound
