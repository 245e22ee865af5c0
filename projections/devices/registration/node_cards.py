"""The cards of a node, of every vendor, each registered in the vendor's own form (docs/rules/devices.md#registration)."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from events.card import Card
from projections.devices.annotations.bad_annotation import BadAnnotation, number_of_32_bits
from projections.devices.fit.metax_sharing import QUALITY_OF_CARD
from projections.devices.fit.pick_neighbours import NODE_TYPE
from projections.devices.fit.slices import MOST, PROFILES, profiles_in
from projections.devices.registration.register_annotation import decode_json, decode_legacy
from projections.devices.vendors.table import VENDORS, ZONE
from projections.devices.vendors.vendor import Encoding, Unit, Vendor

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_SHOWN = 80
_DELETED = "Deleted_"
_MOST_CARDS = 1024
"""No node has more; a capacity beyond it is a mistake."""


class _Slice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A card of MetaX that is shared."""

    uuid: str
    model: str = ""
    total_dev_count: int = 0
    total_compute: int = 0
    total_v_ram: int = msgspec.field(default=0, name="totalVRam")
    numa: int = 0
    healthy: bool = False
    qos_policy: str = ""
    link_zone: int = 0


class _Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A card of Enflame that is cut into slices."""

    index: str = ""
    minor: str = ""
    capacity: int | float | str = 0


class _CutCards(msgspec.Struct, frozen=True, kw_only=True):
    devices: tuple[_Cut, ...] = ()
    profiles: dict[str, str] = {}


_slices = msgspec.json.Decoder(tuple[_Slice, ...])
_cut = msgspec.json.Decoder(_CutCards)


def node_cards(
    vendor: Vendor,
    node: str,
    annotations: Mapping[str, str],
    capacity: Mapping[str, int],
    labels: Mapping[str, str] | None = None,
) -> tuple[Card, ...]:
    """The cards of one vendor on a node. Raises `BadAnnotation`, also where there are none."""
    if vendor.encoding is Encoding.CAPACITY:
        return _from_capacity(vendor, node, capacity, (labels or {}).get(INSTANCE_TYPE, ""))
    text = annotations.get(vendor.register, "")
    if not text:
        raise BadAnnotation(key=vendor.register, part="", problem="is absent or empty")
    cards = _read(vendor, node, text)
    if not cards:
        raise BadAnnotation(key=vendor.register, part=text[:_SHOWN], problem="tells of no card")
    twice = next((uuid for uuid, times in Counter(card.uuid for card in cards).items() if times > 1), None)
    if twice is not None:
        raise BadAnnotation(key=vendor.register, part=twice[:_SHOWN], problem="is told of twice")
    return tuple(replace(card, vendor=vendor.word, cores=vendor.registered_cores or card.cores) for card in cards)


class CardsOn(msgspec.Struct, frozen=True, kw_only=True):
    """The cards of a node, of every vendor that registers some there, and what of these registrations can't be read."""

    cards: tuple[Card, ...]
    unread: tuple[BadAnnotation, ...] = ()


def cards_on(
    node: str,
    annotations: Mapping[str, str],
    capacity: Mapping[str, int],
    labels: Mapping[str, str] | None = None,
    vendors: Sequence[Vendor] = VENDORS,
    *,
    before: Sequence[Card] = (),
) -> CardsOn:
    """All cards of a node; of a vendor whose registration can't be read those that it had `before`."""
    found: list[Card] = []
    unread: list[BadAnnotation] = []
    for vendor in vendors:
        if _registers(vendor, annotations.get(vendor.register, ""), capacity) or _shows(vendor, capacity):
            try:
                found.extend(node_cards(vendor, node, annotations, capacity, labels))
            except BadAnnotation as bad:
                unread.append(bad)
                found.extend(card for card in before if card.vendor == vendor.word)
    return CardsOn(cards=tuple(found), unread=tuple(unread))


def _registers(vendor: Vendor, text: str, capacity: Mapping[str, int]) -> bool:
    """Whether a node registers cards of the vendor; HAMi marks so what it takes for gone."""
    registered = bool(vendor.register and text) and not text.startswith(_DELETED)
    return registered and (not vendor.offered or vendor.shown_in(capacity))


def _shows(vendor: Vendor, capacity: Mapping[str, int]) -> bool:
    return vendor.encoding is Encoding.CAPACITY and vendor.shown_in(capacity)


def _read(vendor: Vendor, node: str, text: str) -> tuple[Card, ...]:
    match vendor.encoding:
        case Encoding.SLICES:
            return _read_slices(vendor, text)
        case Encoding.PROFILES:
            return _read_cut(vendor, node, text)
        case Encoding.LEGACY:
            return decode_legacy(text, key=vendor.register)
        case _:
            json = text.lstrip().startswith("[")
            return decode_json(text, key=vendor.register) if json else decode_legacy(text, key=vendor.register)


def _read_slices(vendor: Vendor, text: str) -> tuple[Card, ...]:
    try:
        found = _slices.decode(text)
    except msgspec.MsgspecError as problem:
        raise _unreadable(vendor, text, problem) from problem
    return tuple(
        Card(
            uuid=one.uuid,
            index=index,
            slots=one.total_dev_count,
            memory=one.total_v_ram,
            cores=one.total_compute,
            model=vendor.word,
            numa=one.numa,
            mode="",
            healthy=one.healthy,
            custom={QUALITY_OF_CARD: one.qos_policy, "Model": one.model, ZONE: one.link_zone},
        )
        for index, one in enumerate(found)
    )


def _read_cut(vendor: Vendor, node: str, text: str) -> tuple[Card, ...]:
    try:
        found = _cut.decode(text)
    except msgspec.MsgspecError as problem:
        raise _unreadable(vendor, text, problem) from problem
    known = profiles_in(found.profiles)
    if not known:
        raise BadAnnotation(key=vendor.register, part=text[:_SHOWN], problem="names no profile such as 3g.20gb")
    profiles = msgspec.json.encode(found.profiles, order="deterministic").decode()
    cut = {MOST: max(profile.slices for profile in known), PROFILES: profiles}
    memory = max(profile.memory for profile in known)
    return tuple(_card_cut(vendor, node, place, one, memory, cut) for place, one in enumerate(found.devices))


def _card_cut(vendor: Vendor, node: str, place: int, one: _Cut, memory: int, cut: dict[str, int | str]) -> Card:
    """A card that is cut into slices, by its own number or its place on the node where it has none. Raises `BadAnnotation`."""
    index = place
    if one.index.isascii() and one.index.isdigit():
        index = number_of_32_bits(one.index, key=vendor.register, part=one.index)
    return Card(
        uuid=f"{node}-enflame-drs-{index}",
        index=index,
        slots=_slots(vendor, one),
        memory=memory,
        model=vendor.word,
        mode="",
        custom={"index": str(index), "minor": one.minor.strip() or str(index), **cut},
    )


def _slots(vendor: Vendor, cut: _Cut) -> int:
    """Into how many slices a card can be cut; plugins write it as a number or as text. Raises `BadAnnotation`."""
    text = cut.capacity if isinstance(cut.capacity, str) else str(int(cut.capacity))
    slots = number_of_32_bits(text.strip(), key=vendor.register, part=text)
    if slots <= 0:
        raise BadAnnotation(key=vendor.register, part=text, problem="is no number of slices")
    return slots


def _unreadable(vendor: Vendor, text: str, problem: Exception) -> BadAnnotation:
    return BadAnnotation(key=vendor.register, part=text[:_SHOWN], problem=f"is not what the plugin writes: {problem}")


def _from_capacity(vendor: Vendor, node: str, capacity: Mapping[str, int], kind: str) -> tuple[Card, ...]:
    """Cards that a node shows in its capacity alone: their number, or their cores and memory in all."""
    unit, names = vendor.unit, vendor.resources
    assert unit is not None, "a vendor that is read from capacity says what one card is"
    amount = capacity.get(names.cores if unit.by_cores else names.count, 0)
    count = -(-amount // unit.cores) if unit.by_cores else amount
    if not 0 < count <= _MOST_CARDS:
        raise BadAnnotation(
            key=names.cores if unit.by_cores else names.count,
            part=str(amount),
            problem="is no number of cards on a node",
        )
    memory = unit.memory
    if unit.by_cores:
        memory = capacity.get(names.memory, 0) * names.factor * unit.cores // amount
    return tuple(_card(vendor, unit, node, index, count, memory, capacity, kind) for index in range(count))


def _card(
    vendor: Vendor, unit: Unit, node: str, index: int, count: int, memory: int, capacity: Mapping[str, int], kind: str
) -> Card:
    slots, cores = unit.slots, unit.cores
    custom: dict[str, int | str] = {}
    if vendor.rules.core_bits:
        slots = min(unit.slots, capacity.get(vendor.resources.cores, 0) // count)
        cores, custom[NODE_TYPE] = (1 << slots) - 1, kind
    return Card(
        uuid=f"{node}-{unit.tag}-{index}",
        index=index,
        slots=slots,
        memory=memory,
        cores=cores,
        model=vendor.word,
        numa=int(unit.halves and index >= count // 2),
        mode="",
        vendor=vendor.word,
        custom=custom,
    )
