"""Who manages an object by what its metadata says of owners."""

from events.json_object import JsonMapping, JsonObject, objects_at
from services.jobs.kinds.managed_kinds import Kinds


def controller_of(value: JsonObject) -> JsonMapping | None:
    """The reference to the owner that manages an object, if one does."""
    return next((one for one in objects_at(value, "metadata", "ownerReferences") if one.get("controller")), None)


def belongs_to_job(value: JsonObject, kinds: Kinds) -> bool:
    """Whether an object of a kind that somebody manages controls it."""
    owner = controller_of(value)
    return owner is not None and kinds.owns_jobs(str(owner.get("apiVersion", "")), str(owner.get("kind", "")))
