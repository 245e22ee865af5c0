"""Suites about fair sharing: shares, victims, the order of a cycle, and the past usage of local queues."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from events.quota import Weight
from projections.fair_sharing.share import Share, share_of, weighted
from projections.quota_columns import Usage
from projections.quota_node import Node
from tests.conformance.kueue.case_world import CaseWorld

Case = dict[str, Any]


def shares(case: Case) -> str | None:
    """The share of every queue and cohort, with what a workload asks for on top."""
    at, node = _used(case)
    _charge(at, node, case["inputs"].get("requested_flavor_resources"))
    found = {
        _told(kind, name, _share(at, node))
        for kind, nodes in (("cluster_queue", at.world.quota.queues), ("cohort", at.world.quota.cohorts))
        for name, node in nodes.items()
    }
    wanted = {
        (one["node_type"], one["name"], one["dr_name"], one["dr_value"], one["borrowing"])
        for one in case["want"]["result"]
    }
    return None if found == wanted else f"found {sorted(found - wanted)}, recorded {sorted(wanted - found)}"


def borrowing(case: Case) -> str | None:
    """Whether a queue borrows at all, and whether it does of what is asked for."""
    at, node = _used(case)
    share = _share(at, node)
    asked = _flat(at, case["inputs"]["requested_flavor_resources"])
    found = {"borrowing": share.borrowing, "borrowing_on_requested": share.borrowing_on(asked)}
    return None if found == case["want"] else f"found {found}, recorded {case['want']}"


def share_in_digits(case: Case) -> str | None:
    """A share as text; Kueue's comes from a float, so it may differ by as much as a float does."""
    ratio = Fraction(str(case["inputs"]["unweighted_ratio"]))
    weight = Fraction(str(case["inputs"]["fair_weight"]))
    share = weighted(
        ratio.numerator, ratio.denominator, Weight(numerator=weight.numerator, denominator=weight.denominator)
    )
    found, wanted = share.told(), case["want"]["result"]
    if found == wanted:
        return None
    if share.infinite or "Inf" in wanted or abs(Fraction(found) - Fraction(wanted)) * 2**50 > Fraction(wanted):
        return f"found {found}, recorded {wanted}"
    return None


def _used(case: Case) -> tuple[CaseWorld, Node]:
    at = CaseWorld(case)
    node = at.world.quota.queues["cq"]
    _charge(at, node, case["inputs"].get("usage"))
    return at, node


def _charge(at: CaseWorld, node: Node, usage: Case | None) -> None:
    at.world.quota.add_usage(node.name, _flat(at, usage or {}))


def _share(at: CaseWorld, node: Node) -> Share:
    return share_of(node, at.world.quota.columns.names)


def _told(kind: str, name: str, share: Share) -> tuple[str, str, str, int, bool]:
    return kind, name, share.resource, share.rounded(), share.borrowing


def _flat(at: CaseWorld, usage: Case) -> Usage:
    return {
        at.world.quota.column(flavor, name): amount for flavor, found in usage.items() for name, amount in found.items()
    }


FAIRNESS_SUITES: dict[str, Callable[[Case], str | None]] = {
    "TestDominantResourceShare": shares,
    "TestIsBorrowingOn": borrowing,
    "TestPreciseWeightedShareSerialized": share_in_digits,
}
