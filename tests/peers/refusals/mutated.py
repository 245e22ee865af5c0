"""An object with something in it that may not be so: a field more or less, or another value, by chance."""

import copy
import random
from typing import Any

from events.json_object import JsonObject

Place = tuple[str | int, ...]
_NUMBERS = (-1, 0, 1, 2, 7, 1_001, 2**31 - 1)
_TEXTS = ("", "x", "A_b!", "a.b/c", "-1", "0", "1", "1500m", "10Gi", "true", "False", "2026-01-01T00:00:00Z", "y" * 64)
_KEYS = ("x", "a.example/b", "kubernetes.io/hostname", "cpu", "pods", "example.com/gpu", "A_b!", "nvidia.com/gpu")


class Mutation:
    """Changes by chance, in the shapes that a schema knows, where there is one."""

    def __init__(self, chance: random.Random, schema: JsonObject, notes: tuple[str, ...], part: str = "spec") -> None:
        """`notes` are annotations and labels that mean something to whoever reads the object, `part` what gets fields."""
        self._chance, self._schema, self._notes, self._part = chance, schema, notes, part
        self.told: list[str] = []
        """What was changed."""

    def of(self, value: JsonObject, times: int) -> JsonObject:
        """The object with so many changes in its spec, its labels and its annotations, or in its status alone."""
        found = copy.deepcopy(value)
        changes = [self._another, self._another, self._without, self._with, self._with]
        changes += [self._noted] if self._part == "spec" else []
        for _ in range(times):
            self._chance.choice(changes)(found)
        return found

    def _changed(self, value: JsonObject) -> list[Place]:
        """The places that may get another value, or go."""
        places = [place for place in _places(value) if place[0] != "metadata" and len(place) > 1]
        return places if self._part == "spec" else [place for place in places if place[0] == self._part]

    def _another(self, value: JsonObject) -> None:
        """Another value at some place."""
        places = self._changed(value)
        if not places:
            return
        place = self._chance.choice(places)
        before = _at(value, place)
        self._put(value, place, self._like(before, self._schema_at(place), _texts_in(value)))

    def _without(self, value: JsonObject) -> None:
        """Without some field or element."""
        places = self._changed(value)
        if not places:
            return
        place = self._chance.choice(places)
        del _at(value, place[:-1])[place[-1]]
        self.told.append(f"without {_path(place)}")

    def _with(self, value: JsonObject) -> None:
        """A field more, of those that the schema knows; an element twice, where there is no schema."""
        objects = [place for place in _places(value) if isinstance(_at(value, place), dict) and place[0] == self._part]
        lists = [place for place in _places(value) if isinstance(_at(value, place), list) and _at(value, place)]
        if self._part != "spec":
            lists = [place for place in lists if place[0] == self._part]
        missing = [
            (*place, name)
            for place in objects
            for name in sorted((self._schema_at(place).get("properties") or {}).keys() - _at(value, place).keys())
        ]
        if missing and (not lists or self._chance.random() < 0.7):
            place = self._chance.choice(missing)
            self._put(value, place, self._made(self._schema_at(place), _texts_in(value)))
        elif lists:
            place = self._chance.choice(lists)
            elements = _at(value, place)
            elements.insert(self._chance.randint(0, len(elements)), copy.deepcopy(self._chance.choice(elements)))
            self.told.append(f"twice {_path(place)}")

    def _noted(self, value: JsonObject) -> None:
        """A label or an annotation, of the object or of a template in it."""
        if not self._notes:
            return
        templates = [
            place for place in _places(value) if place[-1] == "template" and isinstance(_at(value, place), dict)
        ]
        at = _at(value, self._chance.choice(((), *templates)))
        kind = self._chance.choice(("labels", "annotations"))
        note = self._chance.choice(self._notes)
        text = self._chance.choice((*_TEXTS, *_texts_in(value)))
        at.setdefault("metadata", {}).setdefault(kind, {})
        if at["metadata"][kind] is None:
            at["metadata"][kind] = {}
        at["metadata"][kind][note] = text
        self.told.append(f"{kind} {note}={text!r}")

    def _put(self, value: JsonObject, place: Place, to: Any) -> None:
        _at(value, place[:-1])[place[-1]] = to
        self.told.append(f"{_path(place)}={to!r}"[:160])

    def _like(self, before: Any, schema: JsonObject, texts: list[str]) -> Any:
        if schema.get("enum"):
            return self._chance.choice(schema["enum"])
        match before:
            case bool():
                return not before
            case int():
                return self._chance.choice(_NUMBERS)
            case str():
                return self._chance.choice((*_TEXTS, *texts))
            case list():
                return [] if self._chance.random() < 0.5 else list(reversed(before))
            case dict():
                return {} if self._chance.random() < 0.4 else {**before, self._chance.choice(_KEYS): "1"}
            case _:
                return None

    def _made(self, schema: JsonObject, texts: list[str]) -> Any:
        """A value of this shape, with what it must have and by chance more."""
        if schema.get("enum"):
            return self._chance.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return self._chance.choice(("-1", "0", "1", "3", "1500m", 2))
        match schema.get("type"):
            case "boolean":
                return self._chance.random() < 0.5
            case "integer":
                return self._chance.choice(_NUMBERS)
            case "string":
                return self._chance.choice((*_TEXTS, *texts))
            case "array":
                return [self._made(schema.get("items") or {}, texts) for _ in range(self._chance.randint(0, 2))]
            case "object" if schema.get("properties"):
                must = set(schema.get("required") or ())
                return {
                    name: self._made(one, texts)
                    for name, one in schema["properties"].items()
                    if name in must or self._chance.random() < 0.4
                }
            case "object":
                of = schema.get("additionalProperties") or {"type": "string"}
                return {self._chance.choice(_KEYS): self._made(of, texts) for _ in range(self._chance.randint(0, 2))}
            case _:
                return {}

    def _schema_at(self, place: Place) -> JsonObject:
        found: JsonObject = self._schema
        for step in place:
            if isinstance(step, int):
                found = found.get("items") or {}
            else:
                inner = found.get("properties") or {}
                found = inner.get(step) or (found.get("additionalProperties") or {})
            if not isinstance(found, dict):
                return {}
        return found


def _places(value: Any, path: Place = ()) -> list[Place]:
    """All places below, each field and each element."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[Place] = []
    for step, one in inner:
        found.append((*path, step))
        found.extend(_places(one, (*path, step)))
    return found


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def _texts_in(value: Any) -> list[str]:
    """Texts of the object itself, in order: what one field names another one may as well."""
    found = (_at(value, place) for place in _places(value))
    return sorted({one for one in found if isinstance(one, str) and len(one) < 64})


def _path(place: Place) -> str:
    return ".".join(str(one) for one in place)
