"""Annotations of vendors whose runtime finds a pod's cards by index (docs/rules/devices.md#pod-annotations)."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from events.card import CardShare
from projections.devices.vendors.table import ENFLAME_SLICE, METAX_SLICE, NEURON

Containers = Sequence[Sequence[CardShare]]


class PinContext(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when a pod gets its cards, in the vendor's own form, and what its containers are called and ask for."""

    at: str
    node: str = ""
    names: tuple[str, ...] = ()
    by_count: tuple[bool, ...] = ()
    """Whether a container asks for whole devices by number."""


class _Metax(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    uuid: str
    compute: int = 0
    memory: int = msgspec.field(default=0, name="vRam")


class _Slice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    allocated: bool = False
    request: int
    number: str = msgspec.field(name="profileID")
    profile_name: str


def _indexes(shares: Sequence[CardShare]) -> str:
    return ",".join(str(share.index) for share in shares)


def _last(containers: Containers) -> str:
    """The cards of the last container that has any."""
    return next((_indexes(shares) for shares in reversed(containers) if shares), "")


def _kunlun(containers: Containers, place: PinContext) -> dict[str, str]:
    del place
    last = _last(containers)
    return {"BAIDU_COM_DEVICE_IDX": last} if last else {}


def _mthreads(containers: Containers, place: PinContext) -> dict[str, str]:
    last = _last(containers)
    domain = "mthreads.com"
    written = {
        f"{domain}/gpu-index": last,
        f"{domain}/predicate-time": place.at,
        f"{domain}/predicate-node": place.node,
    }
    return written if last else {}


def _metax(containers: Containers, place: PinContext) -> dict[str, str]:
    rows = [
        [_Metax(uuid=share.uuid, compute=share.cores, memory=share.memory) for share in shares] for shares in containers
    ]
    encoded = msgspec.json.encode(rows).decode()
    return {"metax-tech.com/gpu-devices-allocated": encoded, "metax-tech.com/predicate-time": place.at}


def _enflame(containers: Containers, place: PinContext) -> dict[str, str]:
    slices = {
        place.names[position] if position < len(place.names) else str(position): _Slice(
            request=int(share.custom.get("drsSlice", share.slots)),
            number=str(share.custom.get("profileID", "")),
            profile_name=str(share.custom.get("profileName", "")),
        )
        for position, shares in enumerate(containers)
        for share in shares[:1]
    }
    first = next((shares[0] for shares in containers if shares), None)
    if first is None:
        return {}
    key = "enflame.com/gcu-{}".format
    return {
        key("assigned"): "false",
        key("assigned-id"): str(first.index),
        key("assigned-index"): str(first.custom.get("index", "")),
        key("assigned-minor"): str(first.custom.get("minor", "")),
        key("assigned-time"): place.at,
        key("request-size"): str(first.custom.get("drsSlice", first.slots)),
        "assigned-containers": msgspec.json.encode(slices).decode(),
    }


def _neuron(containers: Containers, place: PinContext) -> dict[str, str]:
    """Devices by their number; cores by theirs, counted through all devices."""
    indexes: list[str] = []
    by_cores = False
    for position, shares in enumerate(containers):
        for share in shares:
            if position < len(place.by_count) and place.by_count[position]:
                indexes.append(str(share.index))
                continue
            by_cores = True
            indexes.extend(str(_EACH * share.index + bit) for bit in range(_EACH) if share.cores >> bit & 1)
    if not indexes:
        return {}
    result = {
        "AWS_NEURON_IDS": ",".join(indexes),
        "NEURON_ALLOC_TIME": place.at,
        "NEURON_ALLOCATED": "false",
        "aws.amazon.com/predicate-node": place.node,
    }
    return {**result, "NEURON_RESOURCE_TYPE": "aws.amazon.com/neuroncore"} if by_cores else result


_EACH = 2
"""Cores of one Neuron device."""
SPECIAL: Mapping[str, Callable[[Containers, PinContext], dict[str, str]]] = {
    "kunlun": _kunlun,
    "Mthreads": _mthreads,
    METAX_SLICE: _metax,
    ENFLAME_SLICE: _enflame,
    NEURON: _neuron,
}
"""By vendor word."""
