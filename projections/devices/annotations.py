"""How HAMi writes cards and allocations into annotations (hami-semantics §1, §2)."""

from collections.abc import Sequence

import msgspec

from events.card import Card, CardShare
from projections.devices.vendors import BY_WORD, NVIDIA, VENDORS, serves

REGISTER = "hami.io/node-nvidia-register"
HANDSHAKE = "hami.io/node-handshake"
CORDON = "hami.io/device-cordon"
ALLOCATED = "hami.io/vgpu-devices-allocated"
TO_ALLOCATE = "hami.io/vgpu-devices-to-allocate"
ASSIGNED_NODE = "hami.io/vgpu-node"
USE_UUID = "nvidia.com/use-gpuuuid"
NO_USE_UUID = "nvidia.com/nouse-gpuuuid"
USE_TYPE = "nvidia.com/use-gputype"
NO_USE_TYPE = "nvidia.com/nouse-gputype"
CARD_POLICY = "hami.io/gpu-scheduler-policy"
NODE_POLICY = "hami.io/node-scheduler-policy"

_LEGACY_SHORT, _LEGACY_LONG = 7, 9
_ENTRY_FIELDS = 4


class BadAnnotation(ValueError):
    """An annotation that is not in HAMi's form."""

    def __init__(self, *, key: str, part: str, problem: str) -> None:
        super().__init__(f"annotation {key}: {part!r} {problem}")
        self.key, self.part, self.problem = key, part, problem


class _RegisteredCard(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    index: int = 0
    count: int = 0
    devmem: int = 0
    devcore: int = 0
    type: str = ""
    numa: int = 0
    mode: str = "hami-core"
    health: bool = False


_register = msgspec.json.Decoder(tuple[_RegisteredCard, ...])


def decode_register(text: str) -> tuple[Card, ...]:
    """The cards of a node from its register annotation, in JSON or in the legacy text form. Raises `BadAnnotation`."""
    if text.lstrip().startswith("["):
        try:
            found = _register.decode(text)
        except msgspec.MsgspecError as problem:
            raise BadAnnotation(key=REGISTER, part=text[:80], problem=f"is not a list of cards: {problem}") from problem
        return tuple(
            Card(
                uuid=card.id,
                index=card.index,
                slots=card.count,
                memory=card.devmem,
                cores=card.devcore,
                model=card.type,
                numa=card.numa,
                mode=card.mode,
                healthy=card.health,
            )
            for card in found
        )
    return _decode_legacy(text)


def _decode_legacy(text: str) -> tuple[Card, ...]:
    if ":" not in text:
        raise BadAnnotation(key=REGISTER, part=text[:80], problem="has no ':' at the end of a card")
    return tuple(_legacy_card(segment) for segment in text.split(":") if segment)


def _legacy_card(segment: str) -> Card:
    fields = segment.split(",")
    if len(fields) not in (_LEGACY_SHORT, _LEGACY_LONG):
        raise BadAnnotation(key=REGISTER, part=segment, problem="must have 7 or 9 fields")
    uuid, count, memory, cores, model, numa, health = fields[:_LEGACY_SHORT]
    index, mode = (fields[7], fields[8]) if len(fields) == _LEGACY_LONG else ("0", "hami-core")
    if health not in ("true", "false"):
        raise BadAnnotation(key=REGISTER, part=segment, problem="must end its seventh field in true or false")
    return Card(
        uuid=uuid,
        index=_number(index, segment),
        slots=_number(count, segment),
        memory=_number(memory, segment),
        cores=_number(cores, segment),
        model=model,
        numa=_number(numa, segment),
        mode=mode,
        healthy=health == "true",
    )


def _number(text: str, segment: str, key: str = REGISTER) -> int:
    if not text.lstrip("-").isdigit():
        raise BadAnnotation(key=key, part=segment, problem=f"has {text!r} where a number belongs")
    return int(text)


def encode_allocation(containers: tuple[tuple[CardShare, ...], ...]) -> str:
    """A pod's allocation: one slot per container, init containers first, an empty one just `;`."""
    return "".join(
        "".join(f"{share.uuid},{share.vendor},{share.memory},{share.cores}:" for share in shares) + ";"
        for shares in containers
    )


def decode_allocation(text: str) -> tuple[tuple[CardShare, ...], ...]:
    """The shares per container of a pod. Raises `BadAnnotation`."""
    slots = text.split(";")
    if slots and not slots[-1]:
        slots.pop()
    return tuple(tuple(_share(entry) for entry in slot.split(":") if entry) for slot in slots)


def _share(entry: str) -> CardShare:
    fields = entry.split(",")
    if len(fields) < _ENTRY_FIELDS:
        raise BadAnnotation(key=ALLOCATED, part=entry, problem="must have 4 fields: uuid, type, memory, cores")
    uuid, vendor, memory, cores = fields[:_ENTRY_FIELDS]
    return CardShare(
        uuid=uuid,
        vendor=vendor or NVIDIA,
        memory=_number(memory, entry, ALLOCATED),
        cores=_number(cores, entry, ALLOCATED),
    )


def by_vendor(containers: Sequence[Sequence[CardShare]]) -> dict[str, tuple[tuple[CardShare, ...], ...]]:
    """The shares under the word of their vendor, for every vendor one slot per container, so that places are kept.

    HAMi pads under the model instead and so loses which container a share is for (hami-semantics §8, 1).
    """
    words = sorted({vendor_word(share) for shares in containers for share in shares})
    return {
        word: tuple(tuple(share for share in shares if vendor_word(share) == word) for shares in containers)
        for word in words
    }


def vendor_word(share: CardShare) -> str:
    """The vendor of a share; some vendors write the model of the card in its stead."""
    if share.vendor in BY_WORD:
        return share.vendor
    return next((vendor.word for vendor in VENDORS if serves(vendor, share.vendor)), share.vendor)
