"""How a part of a workload's record changes (`Stops`, `InCluster`, `Resizing`, `SecondPass`), or of what was reported of it."""

from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

Part = TypeVar("Part", bound=msgspec.Struct)


def changed_part(part: Part, **changes: Any) -> Part:
    """The part with these fields; itself where it says so already, so that what all hold who have nothing to say goes on being held once."""
    changed = replace(part, **changes)
    return part if changed == part else changed
