"""Objects that can't be understood: what is wrong with which field, and what to write instead."""

from collections.abc import Sequence
from typing import Any

from events.control import ObjectProblem
from events.settings import SettingsObserved
from projections.validation.every_kind import validate
from projections.validation.problem import Severity


class Refused(Exception):
    """An object can't be translated; everything else goes on."""

    def __init__(self, problems: Sequence[ObjectProblem]) -> None:
        super().__init__("; ".join(f"{one.field}: {one.message}" for one in problems))
        self.problems = tuple(problems)


def refuse_invalid(value: dict[str, Any]) -> None:
    """Refuse an object that breaks a rule of its kind, as the API does where our webhook stands before it."""
    broken = [one for one in validate(value, _SETTINGS) if one.severity is Severity.ERROR]
    if broken:
        raise Refused([problem(one.field, one.what, one.instead) for one in broken])


_SETTINGS = SettingsObserved()


def problem(field: str, message: str, instead: str = "") -> ObjectProblem:
    """One problem."""
    return ObjectProblem(field=field, message=message, instead=instead)
