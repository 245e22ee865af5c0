"""Turns the recorded shapes of cards, requests and shares into kuelog's values and back."""

import json
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from events.card import Card, CardRequest, CardShare, MigInstance, MigProfile, Span
from projections.devices.annotations.terms import CLASS
from projections.devices.card_use import CardState, CardUse
from projections.devices.namespace_quota import Limit
from projections.devices.vendors.chip_families import ascend, iluvatar
from projections.devices.vendors.table import BY_WORD
from projections.devices.vendors.vendor import Template, Vendor, VendorResources

Json = Any
UNSET_PERCENT = 101
_LIMITED_AT_CARDS = ("NVIDIA", "MLU")
BACKENDS = {
    "nvidia": "NVIDIA",
    "amd": "AMD",
    "hygon": "DCU",
    "cambricon": "MLU",
    "vastai": "Vastai",
    "biren": "Biren",
    "mthreads": "Mthreads",
    "awsneuron": "AWSNeuron",
    "MetaxDevices": "Metax-GPU",
    "MetaxSDevices": "Metax-SGPU",
    "KunlunDevices": "kunlun",
    "KunlunVDevices": "XPU",
    "EnflameDevices": "Enflame",
    "GCUDevices": "GCU",
}
"""The vendor word by the vendor that a case names, or by its part of HAMi where a vendor has several."""


def vendor_of(given: Json) -> Vendor:
    """The vendor of a case, with the resource names of its configuration."""
    config = given["config"]
    if given["vendor"] == "ascend":
        return _ascend(config)
    if given["vendor"] == "iluvatar":
        return replace(with_names(iluvatar(config["chip"]["CommonWord"]), config["names"]), register="")
    word = BACKENDS.get(given.get("backend", "")) or BACKENDS[given["vendor"]]
    return with_names(BY_WORD[word], config["names"], config.get("mem_percentage_name", ""))


def _ascend(config: Json) -> Vendor:
    chip = config["chip"]
    vendor = ascend(
        chip["CommonWord"],
        templates=tuple(
            Template(name=row["Name"], memory=row["Memory"], cores=row["AICore"]) for row in chip["Templates"] or ()
        ),
        allocatable=chip["MemoryAllocatable"],
        capacity=chip["MemoryCapacity"],
        resources=VendorResources(
            count=chip["ResourceName"],
            memory=chip["ResourceMemoryName"],
            cores=chip["ResourceCoreName"],
            factor=chip["MemoryFactor"] or 1,
        ),
        super_pod=chip["SuperPod"],
    )
    return replace(vendor, register=config["register_key"], soft_split_everywhere=config["hami_vnpu_core"])


def with_names(vendor: Vendor, names: Json, percent: str = "") -> Vendor:
    """The vendor under the resource names of a configuration."""
    return replace(
        vendor,
        resources=VendorResources(
            count=names["count"],
            memory=names["mem"],
            percent=percent,
            cores=names["cores"],
            factor=names["memory_factor"] or 1,
        ),
    )


def vendors_in(env: Json) -> dict[str, Vendor]:
    """The vendors that a scheduler's configuration names, by word."""
    return {
        word: with_names(BY_WORD.get(word) or ascend(word), names, _percent_beside(names["mem"]))
        for word, names in sorted(env["vendors"].items())
        if word in BY_WORD or word.startswith("Ascend")
    }


def _percent_beside(memory: str) -> str:
    return f"{memory}-percentage" if memory else ""


def resources_in(vendors: Json) -> dict[str, VendorResources]:
    """Resource names by vendor word."""
    return {
        word: VendorResources(
            count=names["count"], memory=names["mem"], cores=names["cores"], factor=names["memory_factor"] or 1
        )
        for word, names in sorted(vendors.items())
    }


def profiles_in(rows: Json) -> tuple[MigProfile, ...]:
    """MIG profiles."""
    return tuple(
        MigProfile(
            name=row["name"],
            memory=row["memory_mb"],
            cores=row["core"],
            slices=row["slice_count"],
            placements=spans_in(row["placements"]),
        )
        for row in rows or ()
    )


def spans_in(rows: Json) -> tuple[Span, ...]:
    """Stretches of MIG slices."""
    return tuple(Span(start=row["start"], size=row["size"]) for row in rows or ())


def profiles_out(profiles: tuple[MigProfile, ...]) -> Json:
    """MIG profiles, as recorded."""
    return [
        {
            "name": profile.name,
            "memory_mb": profile.memory,
            "core": profile.cores,
            "slice_count": profile.slices,
            "placements": [{"start": span.start, "size": span.size} for span in profile.placements],
        }
        for profile in profiles
    ]


def state_in(row: Json, *, cordoned: frozenset[str] = frozenset(), custom: Json = None) -> CardState:
    """A card with its use."""
    known = row.get("custom") or (custom or {}).get(row["uuid"]) or {}
    card = Card(
        uuid=row["uuid"],
        index=row["index"],
        slots=row["count"],
        memory=row["total_mem"],
        cores=row["total_cores"],
        model=row["type"],
        numa=row["numa"],
        mode=row["mode"],
        healthy=row["health"],
        profiles=profiles_in(row.get("mig_profiles")),
        custom=custom_in(known),
    )
    pieces = tuple(
        MigInstance(profile=piece["profile"], start=piece["start"], size=piece["size"])
        for piece in row.get("mig_in_use") or ()
    )
    tenants = tuple((pod["annotations"] or {}).get(CLASS, "") for pod in row.get("pods") or ())
    use = CardUse(row["used"], row["used_mem"], row["used_cores"], pieces)
    return CardState(card, use, card.uuid in cordoned, tenants)


def custom_in(row: Json) -> dict[str, int | str]:
    """What only a vendor knows of a card; what is nested stands as its text."""
    return {
        key: json.dumps(value, separators=(",", ":"), sort_keys=True) if isinstance(value, dict) else value
        for key, value in (row or {}).items()
        if isinstance(value, int | str | dict)
    }


def custom_out(custom: dict[str, int | str]) -> Json:
    """The same as recorded."""
    return {
        key: json.loads(value) if isinstance(value, str) and value.startswith("{") else value
        for key, value in custom.items()
    }


def state_out(state: CardState) -> Json:
    """A card with its use, as recorded."""
    card, use = state.card, state.use
    row: Json = {
        "uuid": card.uuid,
        "index": card.index,
        "used": use.slots,
        "count": card.slots,
        "used_mem": use.memory,
        "total_mem": card.memory,
        "used_cores": use.cores,
        "total_cores": card.cores,
        "mode": card.mode,
        "numa": card.numa,
        "type": card.model,
        "health": card.healthy,
    }
    if card.profiles:
        row["mig_profiles"] = profiles_out(card.profiles)
    if use.instances:
        row["mig_in_use"] = [
            {"profile": piece.profile, "start": piece.start, "size": piece.size, "runtime_ready": False}
            for piece in use.instances
        ]
    return row


def registered_in(row: Json, vendor: str = "") -> Card:
    """A registered card."""
    return Card(
        uuid=row["uuid"],
        index=row["index"],
        slots=row["count"],
        memory=row["mem"],
        cores=row["cores"],
        model=row["type"],
        numa=row["numa"],
        mode=row["mode"],
        healthy=row["health"],
        vendor=row["vendor"] or vendor,
        profiles=profiles_in(row.get("mig_profiles")),
        custom=custom_in(row.get("custom")),
    )


def registered_out(card: Card, vendor: str | None = None) -> Json:
    """A registered card, as recorded."""
    row: Json = {
        "uuid": card.uuid,
        "index": card.index,
        "count": card.slots,
        "mem": card.memory,
        "cores": card.cores,
        "type": card.model,
        "numa": card.numa,
        "mode": card.mode,
        "health": card.healthy,
        "vendor": card.vendor if vendor is None else vendor,
    }
    if card.profiles:
        row["mig_profiles"] = profiles_out(card.profiles)
    if card.custom:
        row["custom"] = custom_out(card.custom)
    return row


def request_in(row: Json) -> CardRequest:
    """A request of one container."""
    percent = row["mem_percent"]
    return CardRequest(
        vendor=row["type"],
        count=row["count"],
        memory=row["mem"],
        percent=None if percent == UNSET_PERCENT else percent,
        cores=row["cores"],
    )


def share_in(row: Json) -> CardShare:
    """A share of a card."""
    return CardShare(
        uuid=row["uuid"],
        vendor=row["type"],
        memory=row["mem"],
        cores=row["cores"],
        index=row["idx"],
        slots=row.get("slots", 1),
        custom=custom_in(row.get("custom")),
    )


def share_out(share: CardShare, *, slots: bool = False) -> Json:
    """A share of a card, as recorded."""
    row = {
        "uuid": share.uuid,
        "type": share.vendor,
        "mem": share.memory,
        "cores": share.cores,
        "idx": share.index,
    }
    return {**row, "slots": share.slots} if slots else row


def containers_in(rows: Json) -> tuple[tuple[CardShare, ...], ...]:
    """The shares of each container."""
    return tuple(tuple(share_in(row) for row in container or ()) for container in rows or ())


def limits_in(rows: Json) -> dict[str, Limit]:
    """The limits of a namespace."""
    return {
        name: Limit(used=row["used"], limit=row["limit"] if row["limit_set"] else None) for name, row in rows.items()
    }


def limits_at_cards(rows: Json, vendors: Iterable[Vendor]) -> dict[str, Limit]:
    """Those at which HAMi looks when it chooses cards; of others it does so only before it knows what a card gives.

    Here all count (docs/rules/devices.md#namespace-quota), so that these cases would say of a card that it is beyond the limit.
    """
    others = {name for vendor in vendors if vendor.word not in _LIMITED_AT_CARDS for name in vendor.resources.names()}
    return {name: limit for name, limit in limits_in(rows).items() if name not in others}


def limits_out(limits: dict[str, Limit]) -> Json:
    """The limits of a namespace, as recorded."""
    return {
        name: {"used": row.used, "limit": row.limit or 0, "limit_set": row.limit is not None}
        for name, row in limits.items()
    }
