"""An object with the fields of another version: changes of spec and status by kind, and those that more than one kind shares."""

from collections.abc import Callable, Mapping
from typing import Any

from events.json_object import JsonObject, is_array, is_object, object_at

Change = Callable[[JsonObject], None]
Changes = Mapping[str, tuple[Change | None, Change | None]]
"""By kind what changes its spec, and what its status; each is given a copy of its own."""


def changed(value: JsonObject, changes: Changes) -> JsonObject:
    """The object as the changes of its kind leave it; what was given stays as it is."""
    found = value
    for part, change in zip(("spec", "status"), changes.get(str(value.get("kind")), (None, None)), strict=True):
        if change is not None and isinstance(value.get(part), dict):
            fields = dict(value[part])
            change(fields)
            found = {**found, part: fields}
    return found


def rename(part: JsonObject, old: str, new: str) -> None:
    """Rename a field; if both are there, the new one is kept."""
    if old in part:
        part.setdefault(new, part.pop(old))


def change_topologies(status: JsonObject, old: str, new: str, encode: Callable[[list[Any]], list[Any]]) -> None:
    """In a workload's status, move each topology assignment from field `old` to `new`, converted by `encode`."""
    admission = status.get("admission")
    if is_object(admission) and is_array(admission.get("podSetAssignments")):
        assignments = [_with_topology(one, old, new, encode) for one in admission["podSetAssignments"]]
        status["admission"] = {**admission, "podSetAssignments": assignments}


def _with_topology(assignment: Any, old: str, new: str, encode: Callable[[list[Any]], list[Any]]) -> Any:
    topology = object_at(assignment, "topologyAssignment")
    if not is_array(topology.get(old)):
        return assignment
    kept = {name: field for name, field in topology.items() if name != old}
    return {**assignment, "topologyAssignment": {**kept, new: encode(topology[old])}}
