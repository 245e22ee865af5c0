"""How nodes register their cards: JSON, the older text form, or bare capacity (docs/rules/devices.md#registration)."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

import msgspec

from events.card import Card, MigProfile, Span
from events.go_bool import as_bool
from projections.devices.annotations.bad_annotation import BadAnnotation, number_of_32_bits

REGISTER = "hami.io/node-nvidia-register"
PAIR_SCORES = "hami.io/node-nvidia-score"
CORDON = "hami.io/device-cordon"
_SHORT, _LONG = 7, 9
_SHOWN = 80
_INT32 = 2**31
_Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-_INT32, lt=_INT32)]
_Natural: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=_INT32)]


class _Profile(msgspec.Struct, frozen=True, kw_only=True, rename={"memory": "memoryMB", "slices": "sliceCount"}):
    name: str = ""
    memory: _Int32 = 0
    core: _Int32 = 0
    slices: _Int32 = 0
    placements: tuple[Span, ...] = ()


class _Registered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"profiles": "migProfiles"}):
    id: str = ""
    index: _Natural = 0
    count: _Int32 = 0
    devmem: _Int32 = 0
    devcore: _Int32 = 0
    type: str = ""
    numa: _Int32 = 0
    mode: str = ""
    health: bool = False
    profiles: tuple[_Profile, ...] = ()
    devicevendor: str = ""
    custominfo: dict[str, msgspec.Raw] | None = None


class _PairScore(msgspec.Struct, frozen=True, kw_only=True):
    uuid: str = ""
    score: dict[str, int] = {}


_FIELDS = {name.lower(): name for name in msgspec.structs.asdict(_Registered())} | {"migprofiles": "migProfiles"}
_KEY = re.compile(r'"([A-Za-z]+)"(\s*:)')
_decoder = msgspec.json.Decoder(tuple[_Registered, ...])
_scores_decoder = msgspec.json.Decoder(tuple[_PairScore, ...])


def decode_json(text: str, *, key: str = REGISTER) -> tuple[Card, ...]:
    """The cards of a node in JSON; field names may be in any case. Raises `BadAnnotation`."""
    plain = _KEY.sub(lambda found: f'"{_FIELDS.get(found[1].lower(), found[1])}"{found[2]}', text)
    try:
        return tuple(_card(card) for card in _decoder.decode(plain))
    except msgspec.MsgspecError as problem:
        raise BadAnnotation(key=key, part=text[:_SHOWN], problem=f"is not a list of cards: {problem}") from problem


def _card(card: _Registered) -> Card:
    return Card(
        uuid=card.id,
        index=card.index,
        slots=card.count,
        memory=card.devmem,
        cores=card.devcore,
        model=card.type,
        numa=card.numa,
        mode=card.mode,
        healthy=card.health,
        vendor=card.devicevendor,
        profiles=tuple(
            MigProfile(
                name=profile.name,
                memory=profile.memory,
                cores=profile.core,
                slices=profile.slices,
                placements=profile.placements,
            )
            for profile in card.profiles
        ),
        custom=_custom(card.custominfo or {}),
    )


def _custom(raw: Mapping[str, msgspec.Raw]) -> dict[str, int | str]:
    """The numbers and texts among what a vendor adds; anything else steers nothing here."""
    values = {name: msgspec.json.decode(value) for name, value in sorted(raw.items())}
    return {
        name: int(value) if isinstance(value, float) else value
        for name, value in values.items()
        if isinstance(value, str) or (_is_whole(value) and -_INT32 <= value < _INT32)
    }


def _is_whole(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def encode_json(cards: Sequence[Card]) -> str:
    """The cards of a node as HAMi's device plugin writes them: zero values are left out."""
    rows = [
        _Registered(
            id=card.uuid,
            index=card.index,
            count=card.slots,
            devmem=card.memory,
            devcore=card.cores,
            type=card.model,
            numa=card.numa,
            mode=card.mode,
            health=card.healthy,
            profiles=tuple(
                _Profile(
                    name=profile.name,
                    memory=profile.memory,
                    core=profile.cores,
                    slices=profile.slices,
                    placements=profile.placements,
                )
                for profile in card.profiles
            ),
        )
        for card in cards
    ]
    return msgspec.json.encode(rows).decode()


def decode_legacy(text: str, *, key: str = REGISTER) -> tuple[Card, ...]:
    """The cards of a node in the older text form. Raises `BadAnnotation`."""
    if ":" not in text:
        raise BadAnnotation(key=key, part=text[:_SHOWN], problem="has no ':' at the end of a card")
    return tuple(_legacy_card(segment, key) for segment in text.split(":") if segment)


def _legacy_card(segment: str, key: str) -> Card:
    fields = segment.split(",")
    if len(fields) not in (_SHORT, _LONG):
        raise BadAnnotation(key=key, part=segment, problem=f"must have {_SHORT} or {_LONG} fields")
    uuid, count, memory, cores, model, numa, health = fields[:_SHORT]
    index, mode = fields[_SHORT:] if len(fields) == _LONG else ("0", "hami-core")
    healthy = as_bool(health)
    if healthy is None:
        raise BadAnnotation(key=key, part=segment, problem="must say true or false in its seventh field")
    card = Card(
        uuid=uuid,
        index=number_of_32_bits(index, key=key, part=segment),
        slots=number_of_32_bits(count, key=key, part=segment),
        memory=number_of_32_bits(memory, key=key, part=segment),
        cores=number_of_32_bits(cores, key=key, part=segment),
        model=model,
        numa=number_of_32_bits(numa, key=key, part=segment),
        mode=mode,
        healthy=healthy,
        vendor="",
    )
    if card.index < 0:
        raise BadAnnotation(key=key, part=segment, problem="has a negative index")
    return card


def encode_legacy(cards: Sequence[Card]) -> str:
    """The cards of a node in the older text form, with index and mode."""
    return "".join(
        f"{card.uuid},{card.slots},{card.memory},{card.cores},{card.model},{card.numa},"
        f"{'true' if card.healthy else 'false'},{card.index},{card.mode}:"
        for card in cards
    )


def decode_pair_scores(text: str) -> dict[str, dict[str, int]]:
    """How well each pair of a node's cards is linked. Raises `BadAnnotation`."""
    try:
        found = _scores_decoder.decode(text)
    except msgspec.MsgspecError as problem:
        raise BadAnnotation(
            key=PAIR_SCORES, part=text[:_SHOWN], problem=f"is not a list of scores: {problem}"
        ) from problem
    return {row.uuid: row.score for row in found}
