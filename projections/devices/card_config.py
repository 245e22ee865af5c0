"""The names, units and policies of HAMi's chart, or of its configuration (docs/rules/devices.md#config)."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from events.device_config import DeviceConfigObserved, VendorConfig
from events.settings import HamiSettings
from projections.devices.annotations.steering import BINPACK, SPREAD
from projections.devices.vendors.chip_families import ascend, iluvatar
from projections.devices.vendors.table import VENDORS
from projections.devices.vendors.vendor import Template, Vendor, VendorResources

SPLIT = 10
DEFAULT_CORE_POLICY = "default"
_CHIPS = {"ascend": ascend, "iluvatar": iluvatar}


class NvidiaDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """HAMi's configuration for NVIDIA cards, with the chart's values (docs/rules/devices.md#config)."""

    count: int = 1
    memory: int = 0
    cores: int = 0
    core_policy: str = DEFAULT_CORE_POLICY
    overwrite_env: bool = False
    priority: str = "nvidia.com/priority"
    runtime_class: str = ""


CHART_DEFAULTS = NvidiaDefaults()


class CardConfig:
    """The vendors with their resource names, and the defaults of requests; immutable."""

    def __init__(
        self,
        vendors: tuple[Vendor, ...] = VENDORS,
        defaults: NvidiaDefaults = CHART_DEFAULTS,
        *,
        node_policy: str = BINPACK,
        card_policy: str = SPREAD,
        split: int = SPLIT,
    ) -> None:
        self.vendors, self.defaults = vendors, defaults
        self.node_policy, self.card_policy = node_policy, card_policy
        self.split = split
        """How many containers share a card of NVIDIA where its node does not say otherwise."""
        self.by_word: Mapping[str, Vendor] = {vendor.word: vendor for vendor in vendors}
        self.resources: Mapping[str, VendorResources] = {vendor.word: vendor.resources for vendor in vendors}
        """By vendor word."""
        self.names = frozenset(name for vendor in vendors for name in vendor.resources.names())
        """All resources by which cards are asked for."""
        self.per_card = {vendor.resources.count: vendor.per_card() for vendor in vendors}
        """By the resource that counts cards: those whose values HAMi means per card."""


HAMI = CardConfig()
"""The configuration with the defaults of HAMi's chart."""


def card_config(observed: DeviceConfigObserved | None, hami: HamiSettings | None = None) -> CardConfig:
    """The configuration in force by HAMi's ConfigMap, if there is one, and by the flags of its scheduler."""
    hami = hami or HamiSettings()
    defaults = CHART_DEFAULTS if observed is None else _defaults(observed)
    vendors = VENDORS if observed is None else _vendors(observed)
    split = SPLIT if observed is None else observed.split
    return CardConfig(vendors, defaults, node_policy=hami.node_policy, card_policy=hami.card_policy, split=split)


def _defaults(observed: DeviceConfigObserved) -> NvidiaDefaults:
    return NvidiaDefaults(
        count=observed.default_count,
        memory=observed.default_memory,
        cores=observed.default_cores,
        core_policy=observed.core_policy,
        overwrite_env=observed.overwrite_env,
        priority=observed.priority,
        runtime_class=observed.runtime_class,
    )


def _vendors(observed: DeviceConfigObserved) -> tuple[Vendor, ...]:
    named = {one.word: one for one in observed.vendors}
    known = tuple(
        _renamed(vendor, named[vendor.word], soft=observed.soft_split)
        if vendor.word in named
        else replace(vendor, soft_split_everywhere=observed.soft_split and vendor.rules.soft_split)
        for vendor in VENDORS
    )
    fresh = (
        one for one in observed.vendors if one.family in _CHIPS and one.word not in {vendor.word for vendor in VENDORS}
    )
    return (*known, *(_renamed(_CHIPS[one.family](one.word), one, soft=observed.soft_split) for one in fresh))


def _renamed(vendor: Vendor, config: VendorConfig, *, soft: bool) -> Vendor:
    resources = replace(
        vendor.resources,
        count=config.count,
        memory=config.memory,
        percent=config.percent,
        cores=config.cores,
        factor=vendor.resources.factor * max(config.factor, 1),
    )
    vendor = replace(
        vendor, resources=resources, soft_split_everywhere=soft and vendor.rules.soft_split, linked=config.linked
    )
    if config.family != "ascend":
        return vendor
    return replace(
        vendor,
        templates=tuple(Template(name=one.name, memory=one.memory, cores=one.cores) for one in config.templates),
        allocatable=config.allocatable,
        capacity=config.capacity,
        super_pod=config.super_pod,
    )
