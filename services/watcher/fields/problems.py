"""Objects that can't be translated into facts: which field is wrong, why, and what to write instead."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from events.catalogue import Fact
from events.codec import decode_event, encode
from events.control import ObjectProblem, ObjectRefused
from events.json_object import JsonMapping, is_array, is_object, object_at
from events.quantity import BadQuantity
from events.settings import SettingsObserved
from events.timestamp import BadTimestamp
from services.validation.every_kind import validate_update
from services.validation.problem import Severity


class Refused(Exception):
    """An object can't be translated; everything else goes on."""

    def __init__(self, problems: Sequence[ObjectProblem], reason: str = "") -> None:
        super().__init__("; ".join(f"{one.field}: {one.message}" for one in problems))
        self.problems, self.reason = tuple(problems), reason


def refuse_invalid(value: JsonMapping) -> None:
    """Refuse an object that breaks a rule of its kind, as the API does where our webhook stands before it.

    It is there already, so what an update may leave as it was is no reason to (docs/rules/objects.md#checks-of-no-flavor).
    """
    broken = [one for one in validate_update(value, value, _SETTINGS) if one.severity is Severity.ERROR]
    if broken:
        raise Refused([problem(one.field, one.what, one.instead) for one in broken])


_SETTINGS = SettingsObserved()


def problem(field: str, message: str, instead: str = "") -> ObjectProblem:
    """What is wrong with a field, and what to write instead, as it is reported on the log."""
    return ObjectProblem(field=field, message=message, instead=instead)


def refusal(
    kind: str, value: JsonMapping, refused: Refused, *, running: int = 0, who: Mapping[str, str] | None = None
) -> ObjectRefused:
    """The fact that an object is refused; namespace, name and UID are empty where they are not text.

    A job that is not suspended is `running`, in a generation, and so are pods that went through their gate; `who` are names in
    the place of its own.
    """
    meta = object_at(value, "metadata")
    identity = {name: text if isinstance(text := meta.get(name), str) else "" for name in ("namespace", "name", "uid")}
    named = {"kind": kind, **identity, **(who or {})}
    return ObjectRefused(**named, reason=refused.reason, running=running, problems=_the_first(refused.problems))


def _the_first(problems: Sequence[ObjectProblem]) -> tuple[ObjectProblem, ...]:
    """As many problems as somebody reads: an object has room for a hundred thousand, which no message on the log has."""
    found = tuple(
        ObjectProblem(
            field=one.field[:_MOST_SHOWN], message=one.message[:_MOST_SHOWN], instead=one.instead[:_MOST_SHOWN]
        )
        for one in problems[:_MOST_TOLD]
    )
    more = len(problems) - len(found)
    return (
        (*found, problem("the object", f"{more} more things are wrong with it", "mend these first")) if more else found
    )


def understood(derive: Callable[[], list[Fact]], value: object = None) -> list[Fact]:
    """The facts that are derived of an object. Raises `Refused`, whatever makes them fail or keeps them from the log."""
    try:
        found = derive()
        for fact in found:
            _refuse_too_large(encoded := encode(fact))
            decode_event(encoded)
    except Refused:
        raise
    except RecursionError as bad:
        raise Refused([problem("the object", "it is nested too deep", "fewer levels")]) from bad
    except (BadTimestamp, BadQuantity) as bad:
        field = _field_of(bad.text, value) or "the object"
        raise Refused([problem(field, str(bad))]) from bad
    except Exception as bad:  # noqa: BLE001 - whatever an object holds, only that object may suffer from it
        what = f"it can't be read ({type(bad).__name__}: {str(bad)[:_LONGEST]})"
        raise Refused([problem("the object", what, "what the API reference says of its kind")]) from bad
    return found


def _refuse_too_large(fact: bytes) -> None:
    """The bus takes no message beyond its bound, and who stores facts in order would wait for this one for ever."""
    if len(fact) > LARGEST:
        what = f"what it says takes {len(fact) >> 10} KiB on the log, of {LARGEST >> 10}"
        raise Refused([problem("the object", what, "fewer or shorter fields")])


def _field_of(text: str, value: object, path: str = "") -> str:
    """The first field that holds a text; empty when none does."""
    parts: list[tuple[str, Any]] = []
    if is_object(value):
        parts = [(f"{path}.{name}".lstrip("."), inner) for name, inner in value.items()]
    elif is_array(value):
        parts = [(f"{path}[{index}]", inner) for index, inner in enumerate(value)]
    elif value == text:
        return path
    return next((found for here, inner in parts if (found := _field_of(text, inner, here))), "")


def well_formed(value: JsonMapping) -> None:
    """Check the metadata that every object has, so that its readers may rely on it. Raises `Refused`, naming the field."""
    meta = value.get("metadata")
    if not is_object(meta):
        raise Refused([problem("metadata", f"{shown(meta)} is no object", "name and namespace")])
    found: list[ObjectProblem] = []
    for name in _TEXTS:
        text = meta.get(name)
        if text is not None and not isinstance(text, str):
            found.append(problem(f"metadata.{name}", f"{shown(text)} is no text", "text in quotes"))
    if not meta.get("name"):
        found.append(problem("metadata.name", "it has no name", "a name"))
    for name in ("labels", "annotations"):
        found.extend(_texts(f"metadata.{name}", meta.get(name)))
    owners = meta.get("ownerReferences")
    if owners is not None and not (is_array(owners) and all(_is_owner(one) for one in owners)):
        found.append(
            problem("metadata.ownerReferences", "it is no list of owners", "apiVersion, kind, name and uid each")
        )
    for name in ("spec", "status"):
        part = value.get(name)
        if part is not None and not is_object(part):
            found.append(problem(name, f"{shown(part)} is no object", "fields with names"))
    if found:
        raise Refused(found)


def is_named(value: object) -> bool:
    """Whether an object has a name (and namespace): without that nothing can be reported about it."""
    meta = value.get("metadata") if is_object(value) else None
    if not is_object(meta) or not meta.get("name") or not isinstance(meta["name"], str):
        return False
    return isinstance(meta.get("namespace", ""), str) and "/" not in f"{meta.get('namespace', '')}"


def _texts(field: str, found: Mapping[Any, Any] | None) -> Iterator[ObjectProblem]:
    if found is None:
        return
    if not isinstance(found, dict):
        yield problem(field, f"{shown(found)} is no object", "names and texts")
        return
    for name, text in found.items():
        if not isinstance(name, str) or not isinstance(text, str):
            yield problem(f"{field}[{name}]", f"{shown(text)} is no text", f'"{shown(text)}" in quotes')


def _is_owner(one: object) -> bool:
    return is_object(one) and all(isinstance(one.get(name, ""), str) for name in _OWNER)


def shown(value: object) -> str:
    """A value as people write it, shortened."""
    text = {True: "true", False: "false", None: "nothing"}.get(value) if isinstance(value, bool | None) else repr(value)
    return str(text)[:_LONGEST]


_TEXTS = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generateName")
_OWNER = ("apiVersion", "kind", "name", "uid")
_LONGEST = 120
_MOST_TOLD, _MOST_SHOWN = 20, 1000
LARGEST = 4 << 20
"""Bytes of a fact, half of what the bus takes as one message: more than any object of Kubernetes has."""
