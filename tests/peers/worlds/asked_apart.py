"""Why an autoscaler is asked something else under Kueue than under kuelog, where that is meant; the reasons are in `compared.py`."""

import re

from tests.peers.worlds.difference import Difference
from tests.peers.worlds.drawn import World
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.standing import are_flavors_of_one, evictions, holds

_SAID_BEFORE = r"(Reset to Pending after eviction\. Previously|Retrying after (failure|booking expired)): .*"


class AskedApart:
    """Names the differences of what an autoscaler is asked, and of the checks by which it is asked."""

    def __init__(self, world: World) -> None:
        self._world = world

    def name(self, one: Difference, there: Seen, here: Seen, said: set[str]) -> str:
        """The name of a difference that is meant, as it was seen of both; `said` is what Kueue has said of checks before."""
        match one.path:
            case ("asked", workload, *_) if one.here is None and not _needs_nodes(workload, there, here):
                return "left request"
            case ("asked", workload, *_) if one.there is None and _runs(workload, there) and _runs(workload, here):
                return "request of who runs"
            case ("asked", _, "templates", _, "pods", *field):
                return _of_template(field, one, here)
            case ("workloads", _, "checks", check) if self._is_ours(check) and one.there and one.here:
                return _of_check(one.there, one.here, said)
            case ("workloads", _, "updates", check) if self._is_ours(check) and one.there and one.here:
                fewer = len(one.there) < len(one.here) and all(update in one.here for update in one.there)
                return "updates of merged" if fewer else ""
            case ("workloads", name, "updates", check) if self._is_ours(check) and one.here is None:
                waits = there["workloads"][name]
                return "said before" if waits["checks"][check][0] == "Pending" and not holds(waits) else ""
            case _:
                return ""

    def _is_ours(self, check: str) -> bool:
        return check.startswith(f"{self._world.space}-n")


def _of_template(field: list[str], one: Difference, here: Seen) -> str:
    """The name of a difference of the pods that are asked for."""
    match field:
        case ["labels" | "annotations"] if one.there is None:
            return "template of pods"
        case ["schedulingGates"] if one.here is None:
            return "asked with gates"
        case ["nodeSelector", _] if are_flavors_of_one(one.there, one.here, here):
            return "order of flavors"
        case _:
            return ""


def _needs_nodes(workload: str, there: Seen, here: Seen) -> bool:
    """Whether it holds quota on either side, and is not evicted."""
    sides = (side["workloads"].get(workload) for side in (there, here))
    return any(one is not None and holds(one) for one in sides)


def _of_check(there: list[str], here: list[str], said: set[str]) -> str:
    """The name of a difference of how a check stands."""
    if there[0] != here[0]:
        return ""
    if there[1] != here[1]:
        kept = here[1] == "" and (re.fullmatch(_SAID_BEFORE, there[1]) or there[1] in said)
        return "said before" if kept else ""
    return "count of retries" if there[2] == 0 else ""


def why_nodes_end_it(before: Seen, there: Seen, here: Seen) -> str:
    """The name of a difference of who waits for nodes, after which the world goes on otherwise; empty while there is none."""
    for name, one in there["workloads"].items():
        ours = here["workloads"].get(name)
        if ours is None or not holds(one) or not holds(ours):
            continue
        if _waits_for_its_place(one) and not _waits_for_its_place(ours):
            return "quota twice"
        if _is_asked_for_anew(name, there, here):
            return "asks while it runs"
        known = before["workloads"].get(name)
        if known is not None and evictions(one) > evictions(known) and _has_earlier_nodes(one, ours):
            return "nodes of before"
    return ""


def _runs(workload: str, side: Seen) -> bool:
    found = side["workloads"].get(workload)
    return found is not None and holds(found) and found["conditions"].get("Admitted", [""])[0] == "True"


def _is_asked_for_anew(workload: str, there: Seen, here: Seen) -> bool:
    """Whether it runs on both sides, and a check of it is Pending again under Kueue alone."""
    checks = there["workloads"][workload]["checks"], here["workloads"][workload]["checks"]
    again = any(one[0] == "Pending" and checks[1].get(name, [""])[0] == "Ready" for name, one in checks[0].items())
    return again and _runs(workload, there) and _runs(workload, here)


def _waits_for_its_place(workload: Seen) -> bool:
    """Whether all of its checks are Ready, and its pods have no domains yet."""
    ready = all(check[0] == "Ready" for check in workload["checks"].values())
    return ready and any(one.get("delayedTopologyRequest") == "Pending" for one in workload["pods"].values())


def _has_earlier_nodes(there: Seen, here: Seen) -> bool:
    """Whether a check is Ready under Kueue alone."""
    return any(
        check[0] == "Ready" and here["checks"].get(name, [""])[0] == "Pending"
        for name, check in there["checks"].items()
    )
