"""What a tenant may read: names from namespaces that are not theirs are left out, wherever they stand."""

import re
from collections.abc import Collection, Iterable
from typing import Any

from events.json_object import is_array, is_object
from projections.devices.state import DeviceState
from projections.explanation.about import KINDS

HIDDEN = "another namespace's"
_SLASHED = re.compile(r"(?<![\w./-])(?:pod:)?([\w.-]+(?:/[\w.*-]+)+)")
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_KINDS = frozenset(KINDS.values()) | {"resourcequota"}
_NO_NAMESPACES = _KINDS | {"batch", "queue", "tree"}
"""Words that stand before a slash in what we write: kinds, nodes of the quota tree, groups of an API."""


class Redaction:
    """Hides `namespace/name` of every namespace but one's own, also inside of messages; numbers stay.

    `namespaces` are those that are known to be there: what bears one of their names is hidden even where it might be
    something else. What is not known to be a namespace is hidden too, if its name could be one's, but for the names of `nodes`.
    """

    def __init__(self, own: Collection[str], namespaces: Iterable[str], nodes: Collection[str] = ()) -> None:
        self._own, self._nodes = own, nodes
        self._foreign = frozenset(name for name in namespaces if name not in own)
        self._numbers: dict[str, int] = {}

    def of(self, value: Any) -> Any:
        """A plain value with every foreign name replaced; the same name by the same number."""
        if isinstance(value, str):
            return self.text(value)
        if is_object(value):
            return {self.of(name): self.of(each) for name, each in value.items()}
        if is_array(value):
            return [self.of(each) for each in value]
        return value

    def text(self, text: str) -> str:
        """A text with every foreign name replaced."""
        return _SLASHED.sub(self._replaced, text) if "/" in text else text

    def hides(self, name: str) -> bool:
        """Whether a name of parts with slashes is another namespace's: `namespace/name`, or with its kind before it."""
        first, *rest = name.split("/")
        if first in self._foreign:
            return True
        if first in _KINDS and len(rest) > 1:
            first, *rest = rest
        elif first == "namespace" and rest:
            return rest[0] not in self._own
        if first in self._own or not rest:
            return False
        if first in self._foreign:
            return True
        known = first in _NO_NAMESPACES or first in self._nodes or first.isdigit()
        return not known and _NAMESPACE.fullmatch(first) is not None

    def _replaced(self, found: re.Match[str]) -> str:
        if not self.hides(found.group(1)):
            return found.group()
        number = self._numbers.setdefault(found.group(), len(self._numbers) + 1)
        return f"{HIDDEN} #{number}"


def namespaces_in(world: DeviceState) -> list[str]:
    """Every namespace that a world knows, or in which it knows anything."""
    keys = (*world.workloads, *world.pods, *world.local_queues)
    return sorted({*world.namespaces, *(key.partition("/")[0] for key in keys)})
