"""The quota of a ClusterQueue that follows that of other clusters, as it is written into its object; pure.

Rule: docs/rules/multikueue.md#quota
"""

import msgspec

from events.json_object import JsonMapping, JsonObject, objects_at
from events.quantity import BadQuantity, from_units, to_units
from events.quota import Quota


class QuotaWanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the only flavor of a ClusterQueue is to have."""

    uid: str
    quotas: tuple[Quota, ...]


def quota_patch(found: JsonObject, wanted: QuotaWanted) -> JsonObject | None:
    """The merge patch of the object as it was read; None where it has this quota, is another one, or has other groups by now.

    The list of groups is written as a whole, so it holds for that version of the object alone.
    """
    meta, only = found["metadata"], _only_flavor(found)
    if only is None or (wanted.uid and meta["uid"] != wanted.uid):
        return None
    group, flavor = only
    if list(group.get("coveredResources") or ()) != [one.resource for one in wanted.quotas]:
        return None
    if _quotas_in(flavor) == wanted.quotas:
        return None
    resources = [{"name": one.resource, "nominalQuota": from_units(one.resource, one.nominal)} for one in wanted.quotas]
    changed = {**group, "flavors": [{**flavor, "resources": resources}]}
    return {"metadata": {"resourceVersion": meta["resourceVersion"]}, "spec": {"resourceGroups": [changed]}}


def _only_flavor(found: JsonObject) -> tuple[JsonMapping, JsonMapping] | None:
    """The only group and its only flavor; None where there are others."""
    groups = objects_at(found, "spec", "resourceGroups")
    match groups, [(group, flavor) for group in groups for flavor in objects_at(group, "flavors")]:
        case [_], [only]:
            return only
        case _:
            return None


def _quotas_in(flavor: JsonMapping) -> tuple[Quota, ...] | None:
    """Its quotas where none has a limit; None where one has, or can't be read."""
    resources = objects_at(flavor, "resources")
    if any(one.get(limit) is not None for one in resources for limit in ("borrowingLimit", "lendingLimit")):
        return None
    try:
        return tuple(
            Quota(resource=str(one["name"]), nominal=to_units(str(one["name"]), one["nominalQuota"]))
            for one in resources
        )
    except (BadQuantity, KeyError):
        return None
