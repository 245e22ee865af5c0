"""What a seed puts on the log: right messages of every type, the same from the wrong mouth, and broken bytes."""

import json
import random
from enum import StrEnum
from typing import Any

import msgspec

from events.authors import AUTHORS
from events.catalogue import all_events
from events.control import ClockScaled, LogPartitioned, Quarantined
from events.json_object import JsonObject
from events.setting_aside import SetAside
from events.subjects import CONTROL, FACTS, commit_subject, fact_subject
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from tests.fuzz.values import ODD_NUMBERS, ODD_TEXTS, Values

_FAR_REACHING = (Quarantined, ClockScaled, LogPartitioned)
STREAMS = (FACTS, PARTITION, DEVICE_PARTITION, CONTROL)
_HOMES = {"FACTS": FACTS, "LOG": PARTITION, "DEVICES": DEVICE_PARTITION, "CONTROL": CONTROL}
_SPOKEN = [(author, kind) for author in AUTHORS.values() for kind in sorted(author.says, key=lambda one: one.__name__)]
_FACTS = [one for one in _SPOKEN if one[0].family == FACTS]
_DECISIONS = [one for one in _SPOKEN if one[0].family in ("LOG", "DEVICES")]
_CONTROL = [one for one in _SPOKEN if one[0].family == CONTROL and one[1] not in _FAR_REACHING]
"""An operator who has skipped what decisions rest on, or who lets all clocks run away, has done so on purpose."""


class Sort(StrEnum):
    """In which way a message is odd."""

    FACT = "fact"
    DECISION = "decision"
    CONTROL = "control"
    FOREIGN = "foreign"
    """From somebody whose it is not to say, or on a stream or under a subject where it does not belong."""
    BYTES = "bytes"


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One message, complete but for what only the log knows when it is put there."""

    index: int
    sort: Sort
    stream: str
    subject: str
    body: JsonObject = {}
    """Of a commit without the hash before it and its base; without a time where it is the present one."""
    raw: bytes = b""
    """What is stored instead, where it is no message at all."""
    follows: bool = True
    """Whether a commit follows the end of its partition as it ought to."""

    def __str__(self) -> str:
        shown = repr(self.raw[:200]) if self.raw else json.dumps(self.body, ensure_ascii=True)[:3000]
        return f"{self.index}: {self.sort} on {self.stream} as {self.subject}: {shown}"


def inputs_of(seed: int, count: int) -> list[Input]:
    """The messages of a seed."""
    chance = random.Random(f"{seed}/inputs")
    values = Values(chance, odd=chance.choice((0.02, 0.1, 0.3)))
    return [_input(values, index) for index in range(count)]


def _input(values: Values, index: int) -> Input:
    chance = values.chance
    sort = chance.choices(list(Sort), (55, 17, 3, 10, 15))[0]
    match sort:
        case Sort.FACT:
            return _message(values, index, sort, chance.choice(_FACTS))
        case Sort.DECISION:
            return _message(values, index, sort, chance.choice(_DECISIONS))
        case Sort.CONTROL:
            return _message(values, index, sort, chance.choice(_CONTROL))
        case Sort.FOREIGN:
            return _foreign(values, index)
        case Sort.BYTES:
            return _bytes(values, index)


def _message(values: Values, index: int, sort: Sort, spoken: Any) -> Input:
    author, kind = spoken
    stream = _HOMES[author.family]
    event = _event(values, kind)
    if stream == FACTS:
        body = {"id": f"wild-{index}", "author": author.name, "fact": event, **_time(values), **_about(values)}
        return Input(index=index, sort=sort, stream=stream, subject=fact_subject("", kind.__name__), body=body)
    chance = values.chance
    others = [_event(values, one) for _, one in chance.sample(_said_by(author), chance.choice((0, 0, 1, 2)))]
    body = _commit(values, index, stream, author.name, [event, *others])
    follows = stream == CONTROL or chance.random() < 0.8
    return Input(
        index=index, sort=sort, stream=stream, subject=commit_subject(stream, author.name), body=body, follows=follows
    )


def _said_by(author: Any) -> list[Any]:
    whole = _CONTROL if author.family == CONTROL else _DECISIONS
    said = [one for one in whole if one[0] is author]
    return said * 3


def _event(values: Values, kind: type) -> JsonObject:
    event = values.event(kind)
    if kind is SetAside:
        event["rules"] = values.chance.choice(("0", "9", event["rules"]))
    return event


def _time(values: Values) -> JsonObject:
    chance = values.chance
    return {"at": chance.choice((0, -1, 5, *ODD_NUMBERS))} if chance.random() < values.odd else {}


def _about(values: Values) -> JsonObject:
    chance = values.chance
    if chance.random() < 0.6:
        return {}
    kind = chance.choice(("Job", "Workload", "ClusterQueue", "Node", "Pod", "Unheard", ""))
    name = values.text()
    return {
        "about": {
            "kind": kind,
            "namespace": chance.choice(("", "default")),
            "name": name,
            "version": values.number(),
            "context": values.number(),
            "gone": chance.random() < 0.3,
            "epoch": chance.choice((0, 0, 0, 1, values.number())),
        }
    }


def _commit(values: Values, index: int, stream: str, author: str, events: list[JsonObject]) -> JsonObject:
    chance = values.chance
    inputs = [
        {"stream": chance.choice((*STREAMS, "NONE", "")), "upto": values.number()}
        for _ in range(chance.choice((0, 0, 0, 0, 0, 1, 2)))
    ]
    return {
        "id": f"wild-{index}",
        "partition": stream,
        "inputs": inputs,
        "author": author,
        "epoch": chance.choice((0, values.number())),
        "rules": chance.choice(("1", "2", "9", "")),
        "events": events,
        "state_hash": chance.choice(("", "", "f" * 64, values.text())),
        **_time(values),
    }


def _foreign(values: Values, index: int) -> Input:
    chance = values.chance
    right = _message(values, index, Sort.FOREIGN, chance.choice(_SPOKEN_SAFELY))
    body, changes = dict(right.body), dict[str, Any]()
    match chance.randrange(5):
        case 0:
            body["author"] = chance.choice((*AUTHORS, "nobody", "", "watcher "))
        case 1:
            changes["stream"] = chance.choice(STREAMS)
        case 2:
            changes["subject"] = chance.choice(("kuelog.facts.a.b.NodeObserved", "kuelog.log.0.nobody", "x", "a.b.c.d"))
        case 3 if "events" in body:
            _, kind = chance.choice(_SPOKEN_SAFELY)
            body["events"] = [*body["events"], values.event(kind)]
        case _:
            body["partition"] = chance.choice((*STREAMS, "", "LOG_1"))
            body["fact"] = values.event(chance.choice(all_events()))
    return msgspec.structs.replace(right, body=body, **changes)


_SPOKEN_SAFELY = [one for one in _SPOKEN if one[1] not in _FAR_REACHING]


def _bytes(values: Values, index: int) -> Input:
    chance = values.chance
    right = _message(values, index, Sort.BYTES, chance.choice(_SPOKEN_SAFELY))
    stored = {"prev_hash": "0" * 64, "base": 0, "at": 1, **right.body}
    raw = broken_bytes(json.dumps(stored, ensure_ascii=False).encode(errors="replace"), chance)
    stream = right.stream if chance.random() < 0.8 else chance.choice(STREAMS)
    return msgspec.structs.replace(right, stream=stream, raw=raw, body={})


def broken_bytes(good: bytes, chance: random.Random) -> bytes:
    """The bytes of a message with something wrong with them; never none at all, and seldom still a message."""
    place = chance.randrange(len(good))
    match chance.randrange(10):
        case 0:
            return good[: max(place, 1)]
        case 1:
            return good[:place] + bytes([chance.randrange(256)]) + good[place + 1 :]
        case 2:
            return good[:place] + b"\xff\xfe" + good[place:]
        case 3:
            return chance.choice((b"[", b'{"a":', b'[{"events":')) * chance.choice((100, 5000, 60_000))
        case 4:
            return good.replace(b'.v1"', b'.v9"')
        case 5:
            return good.replace(b".v1", b"Unheard.v1", 1)
        case 6:
            return _wrong_type(good, chance)
        case 7:
            return good[:place] + good[place:] * 2
        case 8:
            return chance.choice(
                (b"null", b"NaN", b"0", b"{}", b"[]", b'""', b"\x00", b"-" * 50, b'{"events":null}', b" ")
            )
        case _:
            return json.dumps(chance.choice(ODD_TEXTS)).encode() + good


def _wrong_type(good: bytes, chance: random.Random) -> bytes:
    """The same with one of its values, however deep, of another type."""
    value = json.loads(good)
    where: Any = value
    while True:
        steps: list[Any] = list(where) if isinstance(where, dict) else list(range(len(where)))
        step = chance.choice(steps)
        inner = where[step]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
            where = inner
            continue
        where[step] = chance.choice((None, True, 7, 1.5, "x", [], {}, [[]], {"": None}, "9" * 500))
        return json.dumps(value).encode()
