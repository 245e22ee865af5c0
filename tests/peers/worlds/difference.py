"""A place where what was seen of Kueue and of kuelog differs."""

from collections.abc import Iterator
from typing import Any, NamedTuple


class Difference(NamedTuple):
    """A place where both differ."""

    path: tuple[str, ...]
    there: Any
    here: Any

    def __str__(self) -> str:
        """As it is printed."""
        return f"{'/'.join(self.path)}: Kueue {self.there!r}, kuelog {self.here!r}"


def differences(there: Any, here: Any, path: tuple[str, ...]) -> Iterator[Difference]:
    """All places below a path where the two differ."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            yield from differences(there.get(key), here.get(key), (*path, key))
    elif there != here:
        yield Difference(path, there, here)
