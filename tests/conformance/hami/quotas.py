"""Checks of cases about ResourceQuotas: what a namespace may still take of cards."""

from typing import Any

import msgspec

from projections.devices.namespace_quota import Limit, Limits, charged, in_force, room
from projections.devices.requests.admission_rule import pod_within_quota
from projections.devices.vendors.vendor import VendorResources
from tests.conformance.difference import first_difference
from tests.conformance.hami.asking import asked_in
from tests.conformance.hami.quantities import whole_quantities
from tests.conformance.hami.shapes import containers_in, limits_in, limits_out, resources_in, vendors_in

Case = dict[str, Any]


def fit_quota(case: Case) -> str | None:
    """Whether a namespace's quota holds so much."""
    given = case["in"]
    names = resources_in(given["vendors"]).get(given["vendor"], VendorResources(count=""))
    factor = max(given["memory_factor"], 1)
    left = room(limits_in(given["quota"].get(given["namespace"], {})), msgspec.structs.replace(names, factor=factor))
    return first_difference(case["out"], {"ok": left.holds(given["mem"], given["cores"])})


def pod_fit_quota(case: Case) -> str | None:
    """Whether a namespace's quota holds a pod."""
    given = case["in"]
    env, pod = given["env"], given["pod"]
    limits = limits_in(env["quota"].get(pod["namespace"], {}))
    every = [asked_in(container) for container in [*pod["init_containers"], *pod["containers"]]]
    init = len(pod["init_containers"])
    found = all(pod_within_quota(vendor, every, init, limits) for vendor in vendors_in(env).values())
    return first_difference(case["out"], {"ok": found})


def quota_op(case: Case) -> str | None:
    """One change of a quota ledger."""
    given = case["in"]
    arguments, resources = given["args"], resources_in(given["vendors"])
    names = {name for each in resources.values() for name in (each.memory, each.cores) if name}
    before: dict[str, Limits] = {space: limits_in(rows) for space, rows in (given["before"] or {}).items()}
    quota = arguments.get("quota") or arguments.get("new") or {}
    space = arguments.get("namespace", quota.get("namespace", ""))
    limits = before.get(space, {})
    match given["op"]:
        case "add_quota":
            after = _limited(limits, {}, whole_quantities(quota["hard"]), names)
        case "del_quota":
            after = _limited(limits, whole_quantities(quota["hard"]), {}, names)
        case "update_quota":
            old = whole_quantities(arguments["old"]["hard"])
            after = _limited(limits, old, whole_quantities(quota["hard"]), names)
        case "add_usage" | "rm_usage" as operation:
            shares = {word: containers_in(rows) for word, rows in (arguments["devices"] or {}).items()}
            after = charged(limits, shares, resources, sign=1 if operation == "add_usage" else -1)
        case other:
            return f"unknown operation {other}"
    spaces = {**before, space: after}
    return first_difference(
        _spaces_out({name: limits_in(rows) for name, rows in case["out"]["after"].items()}), _spaces_out(spaces)
    )


def _limited(limits: Limits, old: dict[str, int], new: dict[str, int], names: set[str]) -> Limits:
    """The limits of a namespace whose only ResourceQuota said that and says this."""
    before = {f"limits.{name}": limit.limit for name, limit in limits.items() if limit.limit is not None}
    hard = {key: value for key, value in before.items() if key not in old} | new
    found = {name: limit for name, limit in in_force([hard]).items() if name in names}
    return {
        name: Limit(used=limits.get(name, Limit()).used, limit=found.get(name, Limit()).limit)
        for name in sorted({*limits, *found})
    }


def _spaces_out(spaces: dict[str, Limits]) -> Case:
    """Without what says nothing: no use and no limit."""
    rows = {
        space: {name: row for name, row in limits_out(limits).items() if row["used"] or row["limit_set"]}
        for space, limits in spaces.items()
    }
    return {space: found for space, found in rows.items() if found}
