"""The annotations of pods about their cards: which they got, and on which node (docs/rules/devices.md#pod-annotations)."""

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest

import msgspec

from events.card import CardShare, MigInstance
from projections.devices.annotations.bad_annotation import BadAnnotation, number_of_32_bits
from projections.devices.vendors.table import BY_WORD, NVIDIA, VENDORS
from projections.devices.vendors.vendor import Vendor, serves

ALLOCATED = "hami.io/vgpu-devices-allocated"
MIG_ALLOCATIONS = "hami.io/vgpu-mig-allocations"
ASSIGNED_NODE = "hami.io/vgpu-node"
CARD_POLICY = "hami.io/gpu-scheduler-policy"
NODE_POLICY = "hami.io/node-scheduler-policy"

Slots = tuple[tuple[CardShare, ...], ...]
"""The shares of each container of a pod."""

_ENTRY_FIELDS = 4


class MigAllocation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The piece of a MIG card that one container got; its name in the driver is known only once it is made."""

    container_index: int = 0
    device_index: int = 0
    gpu_uuid: str = msgspec.field(default="", name="gpuUUID")
    profile: str = ""
    placement: "MigPlacement"
    mig_uuid: str | None = msgspec.field(default=None, name="migUUID")
    gpu_instance: int | None = msgspec.field(default=None, name="gpuInstanceID")
    compute_instance: int | None = msgspec.field(default=None, name="computeInstanceID")

    def instance(self) -> MigInstance:
        """The MIG piece as card use counts it."""
        return MigInstance(profile=self.profile, start=self.placement.start, size=self.placement.size)


class MigPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """The slices that a piece covers."""

    start: int = 0
    size: int = 0


_mig_decoder = msgspec.json.Decoder(tuple[MigAllocation, ...])


def names_in(text: str) -> tuple[str, ...]:
    """A comma separated list, trimmed; empty entries left out."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def encode_container(shares: Sequence[CardShare]) -> str:
    """The shares of one container: each `uuid,type,memory,cores:`."""
    return "".join(f"{share.uuid},{share.vendor},{share.memory},{share.cores}:" for share in shares)


def encode_allocation(containers: Sequence[Sequence[CardShare]]) -> str:
    """A pod's allocation: one slot per container, init containers first, an empty one just `;`."""
    return "".join(encode_container(shares) + ";" for shares in containers)


def decode_container(text: str, *, key: str = ALLOCATED) -> tuple[CardShare, ...]:
    """The shares of one container, as written. Raises `BadAnnotation`."""
    return tuple(_share(entry, key) for entry in text.split(":") if "," in entry)


def decode_slots(text: str, *, key: str) -> tuple[tuple[CardShare, ...], ...]:
    """The shares between the semicolons; after the last is an empty slot. Raises `BadAnnotation`."""
    return tuple(decode_container(slot, key=key) for slot in text.split(";"))


def decode_allocation(text: str, *, vendor: str = NVIDIA, key: str = ALLOCATED) -> tuple[tuple[CardShare, ...], ...]:
    """The shares per container of a pod; an entry that names no type is of the vendor. Raises `BadAnnotation`."""
    slots = decode_slots(text, key=key)
    return tuple(
        tuple(msgspec.structs.replace(share, vendor=share.vendor or vendor) for share in slot)
        for slot in (slots if slots[-1] else slots[:-1])
    )


def _share(entry: str, key: str) -> CardShare:
    fields = entry.split(",")
    if len(fields) < _ENTRY_FIELDS:
        raise BadAnnotation(key=key, part=entry, problem="must have 4 fields: uuid, type, memory, cores")
    uuid, word = fields[:2]
    memory, cores = (number_of_32_bits(text, key=key, part=entry) for text in fields[2:_ENTRY_FIELDS])
    if memory < 0 or cores < 0:
        raise BadAnnotation(key=key, part=entry, problem="has a negative amount")
    return CardShare(uuid=uuid, vendor=word, memory=memory, cores=cores, slots=_slots(fields[_ENTRY_FIELDS:]))


def _slots(more: Sequence[str]) -> int:
    """How many slots a share takes, where releases of HAMi after 2.10 say it; like them, what can't be read there is passed over."""
    try:
        return max(number_of_32_bits(more[0], key="", part=""), 1) if more else 1
    except BadAnnotation:
        return 1


def decode_mig_allocations(text: str) -> tuple[MigAllocation, ...]:
    """The pieces of MIG cards that a pod got. Raises `BadAnnotation`."""
    try:
        found = _mig_decoder.decode(text)
    except msgspec.MsgspecError as problem:
        raise BadAnnotation(
            key=MIG_ALLOCATIONS, part=text[:80], problem=f"is no list of pieces: {problem}"
        ) from problem
    seen: set[tuple[int, int]] = set()
    for piece in found:
        place = (piece.container_index, piece.device_index)
        if min(place) < 0 or not piece.gpu_uuid or not piece.profile or piece.placement.size <= 0 or place in seen:
            raise BadAnnotation(
                key=MIG_ALLOCATIONS,
                part=piece.gpu_uuid,
                problem=f"must say once, for container {place[0]} and device {place[1]}, card, profile and placement",
            )
        seen.add(place)
        made = (piece.mig_uuid, piece.gpu_instance, piece.compute_instance)
        if any(each is not None for each in made) and any(each is None for each in made):
            raise BadAnnotation(
                key=MIG_ALLOCATIONS,
                part=piece.gpu_uuid,
                problem="must name migUUID, gpuInstanceID and computeInstanceID together or not at all",
            )
    return found


def pod_shares(
    annotations: Mapping[str, str],
    vendors: Sequence[Vendor] = VENDORS,
    *,
    asked: Sequence[Collection[str]] = (),
    init: int = 0,
) -> tuple[tuple[CardShare, ...], ...]:
    """What a pod was given, per container, of every vendor and with the pieces of MIG cards. Raises `BadAnnotation`.

    `asked` are the vendors by whose cards each container asks, the `init` init containers first.
    """
    text = annotations.get(MIG_ALLOCATIONS, "")
    pieces = {
        (piece.container_index, piece.gpu_uuid, piece.device_index): piece.instance()
        for piece in (decode_mig_allocations(text) if text else ())
    }
    found: list[Slots] = []
    for vendor in vendors:
        if annotations.get(vendor.allocated):
            slots = decode_allocation(annotations[vendor.allocated], vendor=vendor.word, key=vendor.allocated)
            found.append(_in_place(_with_pieces(slots, pieces), vendor, asked, init))
    return tuple(tuple(share for each in slots for share in each) for slots in zip_longest(*found, fillvalue=()))


def _with_pieces(slots: Slots, pieces: Mapping[tuple[int, str, int], MigInstance]) -> Slots:
    """Shares with their pieces, which name the place of a share as it is written, not that of its container."""
    return tuple(
        tuple(
            msgspec.structs.replace(share, instance=pieces.get((place, share.uuid, device)))
            for device, share in enumerate(slot)
        )
        for place, slot in enumerate(slots)
    )


def _in_place(slots: Slots, vendor: Vendor, asked: Sequence[Collection[str]], init: int) -> Slots:
    """The slots of one vendor in the places of the containers that they are for.

    HAMi fills the places of containers without cards under the card's model, so that on most nodes they are missing
    here; shares that then can't be told apart count as containers', which have theirs as long as the pod runs.
    """
    if len(slots) >= len(asked):
        return slots
    given = [slot for slot in slots if slot]
    places = [place for place, words in enumerate(asked) if vendor.word in words]
    if len(given) != len(places):
        return ((),) * init + slots
    by_place = dict(zip(places, given, strict=True))
    return tuple(by_place.get(place, ()) for place in range(len(asked)))


def by_vendor(containers: Sequence[Sequence[CardShare]]) -> dict[str, tuple[tuple[CardShare, ...], ...]]:
    """The shares under the word of their vendor, for every vendor one slot per container, so that places are kept.

    HAMi pads under the model instead and so loses which container a share is for
    (docs/rules/devices.md#pod-annotations).
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
