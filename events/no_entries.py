"""The table with nothing in it, held once for all values that have none: most fields that are tables stay empty."""

from typing import Never, TypeVar, cast

V = TypeVar("V")


class _Nothing(dict[str, Never]):
    """A table that says so when something is put into it."""

    def __setitem__(self, key: str, value: Never) -> None:
        raise TypeError(_TOLD)

    def setdefault(self, *_: object) -> Never:
        raise TypeError(_TOLD)

    def update(self, *_: object, **__: object) -> Never:
        raise TypeError(_TOLD)


_TOLD = "something is put into a table that everybody holds: make a new one instead"
_NOTHING = _Nothing()


def no_entries(_: type[V]) -> dict[str, V]:
    """No such values: equal to `{}`, and never to be changed."""
    return cast("dict[str, V]", _NOTHING)
