"""Objects that can't be understood: what is wrong with which field, and what to write instead."""

from collections.abc import Sequence

from events.control import ObjectProblem


class Refused(Exception):
    """An object can't be translated; everything else goes on."""

    def __init__(self, problems: Sequence[ObjectProblem]) -> None:
        super().__init__("; ".join(f"{one.field}: {one.message}" for one in problems))
        self.problems = tuple(problems)


def problem(field: str, message: str, instead: str = "") -> ObjectProblem:
    """One problem."""
    return ObjectProblem(field=field, message=message, instead=instead)
