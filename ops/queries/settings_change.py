"""Other settings than those that were recorded: read from FIELD=VALUE, and put into the log that is folded."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import msgspec

from events.codec import encode
from events.commit import Sighting
from events.json_object import JsonObject, is_object, object_at
from events.settings import SettingsObserved
from events.subjects import CONTROL, FACTS
from ops.files.reading import Unreadable, yaml_of
from projections.feature_gates import DEFAULTS
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.stored_message import Opened, open_message


class BadChange(ValueError):
    """A change that can't be understood, or that leaves no valid object."""


def is_setting(text: str) -> bool:
    """Whether this reads like FIELD=VALUE."""
    return "=" in text


def changed_settings(before: SettingsObserved, words: Sequence[str]) -> SettingsObserved:
    """The settings with these fields set; `gates.NAME=true` for a feature gate. Raises `BadChange`."""
    plain: JsonObject = msgspec.to_builtins(before)
    for text in words:
        path, _, value = text.partition("=")
        first, *rest = path.strip().split(".")
        if first not in SettingsObserved.__struct_fields__:
            known = ", ".join(SettingsObserved.__struct_fields__)
            raise BadChange(f"there is no setting {first}; there are {known}")
        try:
            read = yaml_of(value)
        except Unreadable as problem:
            raise BadChange(f"{text}: {value!r} is no value: write true, 5, a name or [a, b]") from problem
        if not rest:
            plain[first] = read
            continue
        if plain.get(first) and not is_object(plain[first]):
            raise BadChange(f"{text}: {first} is one value and has no {'.'.join(rest)}")
        plain[first] = {**object_at(plain, first), ".".join(rest): read}
    try:
        found = msgspec.convert(plain, SettingsObserved)
    except msgspec.ValidationError as problem:
        raise BadChange(f"{' '.join(words)}: {problem}") from problem
    for text in words:
        _check_below(before, found, text)
    return found


def _check_below(before: SettingsObserved, found: SettingsObserved, text: str) -> None:
    """Raise `BadChange` for a field or gate that nothing reads: the answer would be that it makes no difference."""
    first, _, below = text.partition("=")[0].strip().partition(".")
    whole = getattr(found, first)
    if first == "gates" and (unknown := sorted(whole.keys() - DEFAULTS.keys() - before.gates.keys())):
        near = get_close_matches(unknown[0], DEFAULTS, n=1)
        instead = f"write {near[0]}" if near else "docs/configuration.md has all of them"
        raise BadChange(f"{text}: there is no feature gate {unknown[0]} that means anything here: {instead}")
    if below and isinstance(whole, msgspec.Struct) and below not in whole.__struct_fields__:
        raise BadChange(f"{text}: {first} has no {below}; it has {', '.join(whole.__struct_fields__)}")


def with_settings(entries: Mapping[str, Sequence[Entry]], words: Sequence[str]) -> dict[str, list[Entry]]:
    """The log as if other settings had been observed, wherever some were."""
    found = {name: list(stored) for name, stored in entries.items()}
    control = Control(entries.get(CONTROL, ()))
    for index, entry in enumerate(found.get(FACTS, [])):
        opened = open_message(entry, control) if b"SettingsObserved" in entry.data else None
        sighting = opened.message if isinstance(opened, Opened) else None
        if isinstance(sighting, Sighting) and isinstance(sighting.fact, SettingsObserved):
            fact = changed_settings(sighting.fact, words)
            data = encode(msgspec.structs.replace(sighting, fact=fact))
            found[FACTS][index] = msgspec.structs.replace(entry, data=data)
    return found


def observes_settings(entries: Mapping[str, Sequence[Entry]]) -> bool:
    """Whether the log says under which settings it was decided; else the defaults held."""
    return any(b"SettingsObserved" in entry.data for entry in entries.get(FACTS, ()))
