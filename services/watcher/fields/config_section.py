"""A section of a configuration file whose values are all text, read field by field; what is wrong is gathered."""

import re
from collections.abc import Sequence
from typing import Any

from events.control import ObjectProblem
from events.json_object import JsonMapping, is_array, is_object
from events.whole_number import whole_number
from services.watcher.fields.problems import Refused, problem, shown

_INT32 = 2**31 - 1
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_RESOURCE = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_YES, _NO = ("true", "yes", "on"), ("", "false", "no", "off")


class ConfigSection:
    """Values by name, the field path of the section, and the problems of the whole file."""

    def __init__(self, values: JsonMapping, field: str, problems: list[ObjectProblem]) -> None:
        self.values, self.field, self.problems = values, field, problems

    def refuse_if_any(self) -> None:
        """Raises `Refused` if anything was wrong."""
        if self.problems:
            raise Refused(self.problems)

    def part(self, name: str) -> "ConfigSection | None":
        """The section of a name; None where there is none."""
        found = self.values.get(name)
        if found is None or found == "":
            return None
        if not is_object(found):
            self._wrong(name, found, "fields with names")
            return None
        return ConfigSection(found, f"{self.field}.{name}", self.problems)

    def listed(self, name: str) -> "list[ConfigSection]":
        """The sections of a list; none where there is no list."""
        found = self._list(name)
        wrong = [one for one in found if not is_object(one)]
        if wrong:
            self._wrong(name, wrong[0], "a list of sections")
        return [
            ConfigSection(one, f"{self.field}.{name}[{index}]", self.problems)
            for index, one in enumerate(found)
            if is_object(one)
        ]

    def text(self, name: str, default: str | None = None) -> str:
        """A text; one without a default has to be there."""
        found = self.values.get(name, default)
        if isinstance(found, str) and (found or default is not None):
            return found
        self._wrong(name, found, "a text")
        return ""

    def resource(self, name: str, default: str | None = None) -> str:
        """The name of a resource, with its domain."""
        found = self.text(name, default)
        if found and _RESOURCE.fullmatch(found) is None:
            self._wrong(name, found, "the name of a resource with its domain, such as nvidia.com/gpu")
            return ""
        return found

    def whole(self, name: str, default: int, *, least: int = 0, most: int = _INT32) -> int:
        """A whole number of the section; the default where it is absent, or wrong, which is noted."""
        found = self.values.get(name)
        if found is None or found == "":
            return default
        number = whole_number(found) if isinstance(found, str) else None
        if number is None or not least <= number <= most:
            bounds = f"of at least {least}" if most == _INT32 else f"from {least} to {most}"
            self._wrong(name, found, f"a whole number {bounds}")
            return default
        return number

    def decimal(self, name: str, default: str) -> str:
        """A number above zero, as text; the default where it is absent, or wrong, which is noted."""
        found = self.text(name, default)
        if found and (_DECIMAL.fullmatch(found) is None or not found.strip("0.")):
            self._wrong(name, found, "a number above 0, such as 1 or 1.8")
            return default
        return found

    def yes(self, name: str) -> bool:
        """A boolean; False where it is missing."""
        found = str(self.values.get(name, "")).lower()
        if found not in (*_YES, *_NO):
            self._wrong(name, self.values[name], "true or false")
        return found in _YES

    def one_of(self, name: str, default: str, words: Sequence[str]) -> str:
        """One of `words`; the default where it is absent, or another word, which is noted."""
        found = self.text(name, default)
        if found and found not in words:
            self._wrong(name, found, ", ".join(words))
            return default
        return found

    def texts(self, name: str) -> list[str]:
        """A list of texts; items that are none are noted and left out."""
        found = self._list(name)
        wrong = [one for one in found if not isinstance(one, str)]
        if wrong:
            self._wrong(name, wrong[0], "a list of texts")
        return [one for one in found if isinstance(one, str)]

    def wholes(self, name: str) -> list[int]:
        """A list of whole numbers; items that are none are noted and left out."""
        found = [(text, whole_number(text)) for text in self.texts(name)]
        wrong = [text for text, number in found if number is None]
        if wrong:
            self._wrong(name, wrong[0], "a list of whole numbers")
        return [number for _, number in found if number is not None]

    def _list(self, name: str) -> Sequence[Any]:
        found = self.values.get(name)
        if found is None or found == "":
            return []
        if not is_array(found):
            self._wrong(name, found, "a list")
            return []
        return found

    def _wrong(self, name: str, found: object, instead: str) -> None:
        message = "it is not there" if found is None else f"{shown(found)} is not what belongs here"
        self.problems.append(problem(f"{self.field}.{name}", message, instead))
