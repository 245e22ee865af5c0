"""The numbers that stand for pairs of flavor and resource, so that quantities can lie in arrays.

A number is given once and stays; it implies no order, so everything that is shown in order is sorted by name.
"""

from collections.abc import Mapping

FlavorResource = tuple[str, str]
Column = int
Usage = dict[Column, int]
"""Amounts by column, of those columns that are used at all."""


class Columns:
    """Which column holds which flavor and resource."""

    __slots__ = ("_columns", "names")

    def __init__(self) -> None:
        self._columns: dict[FlavorResource, Column] = {}
        self.names: list[FlavorResource] = []
        """Flavor and resource by column."""

    @property
    def width(self) -> int:
        """How many flavors and resources have a column so far: the length of a row of amounts."""
        return len(self.names)

    def of(self, flavor: str, resource: str) -> Column:
        """The column of a flavor and resource, given now if it has none yet."""
        found = self._columns.get((flavor, resource))
        if found is None:
            found = self._columns[(flavor, resource)] = len(self.names)
            self.names.append((flavor, resource))
        return found

    def known(self, flavor: str, resource: str) -> Column | None:
        """The column of a flavor and resource, if it has one."""
        return self._columns.get((flavor, resource))

    def numbered(self, amounts: Mapping[FlavorResource, int]) -> Usage:
        """Amounts by column; flavors and resources that have none yet are given one."""
        return {self.of(flavor, resource): amount for (flavor, resource), amount in amounts.items()}

    def by_name(self, usage: dict[Column, int]) -> dict[FlavorResource, int]:
        """Amounts by flavor and resource, in the order of their names."""
        return dict(sorted((self.names[column], amount) for column, amount in usage.items()))
