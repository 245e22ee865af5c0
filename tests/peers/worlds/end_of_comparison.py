"""Why a world goes on otherwise under Kueue than under kuelog from a step on, so that it is compared no more."""

from collections.abc import Mapping

from tests.peers.worlds.asked_apart import why_nodes_end_it
from tests.peers.worlds.claims_apart import why_claims_end_it
from tests.peers.worlds.difference import differences
from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.elastic_apart import why_slices_end_it
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.serving_apart import why_serving_ends_it
from tests.peers.worlds.standing import (
    NO_LONGER_FITS,
    evictions,
    had_a_turn_by_its_class,
    holds,
    is_blocked,
    is_closed,
    is_led,
    lacks_pods,
    lacks_room,
    preemptions,
    resizings,
    strategy,
)

_USE = frozenset({"flavorsReservation", "flavorsUsage", "share", "pendingWorkloads"})
"""What queues show of what is used of them, and how many wait, of whom one may be on its way."""


def why_it_ends(world: World, number: int, both_before: tuple[Seen, Seen], there: Seen, here: Seen) -> str:
    """The name of a difference after which the world goes on otherwise, and is compared no more; empty while it is."""
    if _is_lost_in_between(world.steps[number], both_before[0], there):
        return "lost in between"
    if ended := (
        why_slices_end_it(world, number, there, here)
        or why_claims_end_it(world, number, there, here)
        or why_serving_ends_it(world.steps[number], there, here)
    ):
        return ended
    if _stays_in_its_queue(world.steps[number], there, here):
        return "moved after eviction"
    if _keeps_its_place(world.steps[number], there, here):
        return "pod keeps its place"
    if any(_waits_for_pods(there["workloads"].get(name), one) for name, one in here["workloads"].items()):
        return "let in without pods"
    if ended := _why_others_hold_quota(world, number, both_before, there, here):
        return ended
    if ended := why_nodes_end_it(both_before[0], there, here) or _why_no_place(
        world, number, both_before[0], there, here
    ):
        return ended
    if _stays_deactivated(there, here):
        return "not reactivated"
    return "deleted child" if child_lost(world, number) and _has_more_room(there, here) else ""


def _why_others_hold_quota(  # noqa: C901 - one reason after the other
    world: World, number: int, both_before: tuple[Seen, Seen], there: Seen, here: Seen
) -> str:
    earlier, before = both_before
    step = world.steps[number]
    if _is_ghost(world, step, before, there, here):
        return "ghost head"
    known = before["workloads"]
    both = {
        name: (one, here["workloads"][name]) for name, one in there["workloads"].items() if name in here["workloads"]
    }
    only_there = {name for name, (one, other) in both.items() if holds(one) and not holds(other)}
    only_here = {name for name, (one, other) in both.items() if holds(other) and not holds(one)}
    if only_here and not only_there and all(_is_starved(world, name, earlier, there) for name in only_here):
        return "flavors in turn"
    if any(_goes_in_vain(name, known, both) for name in both):
        return "flavors in turn"
    if any(holds(ours) != holds(one) or is_blocked(one) for one, ours in both.values()) and _is_blocked_by_checks(
        there
    ):
        return "blocked by checks"
    if _has_done_of_fewer(world, number, there, here):
        return "done of fewer"
    if any(_is_stuck(world, one, here["workloads"].get(name)) for name, one in there["workloads"].items()):
        return "stuck on a flavor"
    if only_there and all(had_a_turn_by_its_class(world, step, name, before, here) for name in only_there):
        return "class by turns"
    if only_there and all(any(_got_turn(other, name, known, both) for other in both) for name in only_there):
        return "gathered for a second"
    if not (only_there or only_here) and any(_has_other_victims(name, known, both) for name in both):
        return "victims one by one"
    refused = all(name in known and not holds(known[name]) for name in only_here)
    if not (only_there and only_here and refused):
        return ""
    if all(_left_in_between(name, known, both) for name in only_there):
        return "gathered for a second"
    yielded = all(any(_yields(world, name, other, before, here) for other in known) for name in only_here)
    waited = all(name in known and not holds(known[name]) for name in only_there)
    if yielded and waited:
        return "refused head yields"
    at_once, a_second_later = (
        {strategy(world, both[name][0]["door"]) for name in those} for those in (only_there, only_here)
    )
    heads_alone = at_once == {"StrictFIFO"} and "StrictFIFO" not in a_second_later
    return "gathered for a second" if waited and heads_alone else ""


def _keeps_its_place(step: Step, there: Seen, here: Seen) -> bool:
    """Whether a pod by itself, whose node something has happened to, was ended by Kueue and stays here."""
    return step.kind == "Node" and any(
        name in here.get("pods", {}) and name not in there.get("pods", {}) and name not in there["workloads"]
        for name, one in here["workloads"].items()
        if step.name in one["pods"].get("main", {}).get("domains", {})
    )


def _why_no_place(world: World, number: int, before: Seen, there: Seen, here: Seen) -> str:
    """The name of a difference of workloads that have a place here alone, if it comes of how Kueue looks for one."""
    sides = {
        name: (one, here["workloads"][name]) for name, one in there["workloads"].items() if name in here["workloads"]
    }
    if any(_holds_without_a_place(world, name, there) for name in there["workloads"]):
        return "led without a place"
    only_here = {name for name, (one, ours) in sides.items() if holds(ours) and not holds(one)}
    if not only_here or any(holds(one) and not holds(ours) for one, ours in sides.values()):
        return ""
    said = {name: sides[name][0]["conditions"].get("QuotaReserved") for name in only_here}
    if all(map(lacks_room, said.values())):
        if _lies_on_a_smaller_node(world, number, there):
            return "less than nothing"
        if _has_left_domains(before, there, {there["workloads"][name]["door"] for name in only_here}):
            return "domains of another tree"
    led = all(is_led(world, name) and (said[name] is None or is_closed(said[name])) for name in only_here)
    return "led without a place" if led else ""


def _holds_without_a_place(world: World, name: str, there: Seen) -> bool:
    """Whether Kueue counts the quota of a leader and its workers of which it has said nothing since their queue is open."""
    mine = there["workloads"][name]
    said = mine["conditions"].get("QuotaReserved")
    return is_led(world, name) and (said is None or is_closed(said)) and _reserves_more(there, mine["door"])


def _has_left_domains(before: Seen, there: Seen, doors: set[str]) -> bool:
    """Whether somebody has left domains in this step who was let in by other queues than those."""
    left = [one for name, one in before["workloads"].items() if not holds(there["workloads"].get(name, {"pods": {}}))]
    return any(one["door"] not in doors and any("domains" in pods for pods in one["pods"].values()) for one in left)


def _lies_on_a_smaller_node(world: World, number: int, there: Seen) -> bool:
    """Whether pods lie in the domain of a node that was made smaller up to this step."""
    smaller = {one.name for one in world.steps[: number + 1] if (one.verb, one.kind) == ("status", "Node")}
    labels = [one["metadata"]["labels"] for one in world.objects if one["metadata"]["name"] in smaller]
    return any(
        "/".join(node.get(level, "") for level in placed["levels"]) in placed["domains"]
        for one in there["workloads"].values()
        if holds(one)
        for placed in one["pods"].values()
        if placed.get("domains")
        for node in labels
    )


def _has_done_of_fewer(world: World, number: int, there: Seen, here: Seen) -> bool:
    """Whether a pod is done by now of a workload that runs with fewer than it asked for, and only the use of queues differs."""
    found = [one for one in differences(there, here, ()) if one.path[0] in ("queues", "doors")]
    alike = all(holds(one) == holds(here["workloads"].get(name, one)) for name, one in there["workloads"].items())
    if not found or not alike or any(one.path[2] not in _USE for one in found):
        return False
    done = {step.name for step in world.steps[: number + 1] if step.verb == "reclaim"}
    return any(_has_fewer(world, name, there) for name in done)


def _has_fewer(world: World, name: str, there: Seen) -> bool:
    """Whether a workload was let in with fewer pods than it asked for."""
    asked = {one["name"]: one["count"] for one in world.pods_of(name)}
    given = there["workloads"].get(name, {}).get("pods", {})
    return any(one["count"] < asked.get(pod_set, 0) for pod_set, one in given.items())


def _is_lost_in_between(step: Step, before: Seen, there: Seen) -> bool:
    """Whether nobody waits under Kueue for a job that held quota and was changed, and the quota is not back."""
    known, now = before["workloads"].get(step.name), there["workloads"].get(step.name)
    if known is None or now is None or not holds(known) or "QuotaReserved" in now["conditions"]:
        return False
    return _reserves_more(there, now["door"])


def _reserves_more(there: Seen, door: str) -> bool:
    """Whether a local queue counts more workloads that hold quota than say so."""
    reserving = sum(holds(one) for one in there["workloads"].values() if one["door"] == door)
    return there["doors"].get(door, {}).get("reservingWorkloads", 0) > reserving


def _stays_in_its_queue(step: Step, there: Seen, here: Seen) -> bool:
    """Whether a job that was evicted names another queue, which only kuelog goes by."""
    mine, ours = there["workloads"].get(step.name), here["workloads"].get(step.name)
    if step.verb != "move" or mine is None or ours is None:
        return False
    return mine["conditions"].get("Evicted", [""])[0] == "True" and mine["door"] != ours["door"]


def _waits_for_pods(there: Seen | None, here: Seen) -> bool:
    """Whether a group waits for other pods here, which under Kueue was let in meanwhile."""
    return (
        lacks_pods(here)
        and not holds(here)
        and there is not None
        and (holds(there) or evictions(there) > evictions(here))
    )


def _is_stuck(world: World, there: Seen, here: Seen | None) -> bool:
    """Whether Kueue alone says that a workload no longer fits, which asks for several resources of a queue that would rather preempt."""
    told = there["conditions"].get("QuotaReserved")
    if not told or told[2] != NO_LONGER_FITS or here is None or here["conditions"].get("QuotaReserved") == told:
        return False
    queue = world.queue_of(there["door"])
    specs = [one["spec"] for one in world.objects if one["metadata"]["name"] == queue]
    specs += [step.value.get("spec", {}) for step in world.steps if step.name == queue]
    rather = any((one.get("flavorFungibility") or {}).get("preference") == "PreemptionOverBorrowing" for one in specs)
    return rather and any(len(amounts) > 1 for amounts in there["requests"].values())


def _stays_deactivated(there: Seen, here: Seen) -> bool:
    """Whether somebody was set active again who was deactivated by a rule, of which Kueue takes no notice."""
    for name, one in there["workloads"].items():
        ours = here["workloads"].get(name)
        told = one["conditions"].get("Requeued", ["", ""])
        if ours is None or not one["active"] or told[0] != "False" or not told[1].startswith("DeactivatedDueTo"):
            continue
        if ours["conditions"].get("Requeued", ["", ""])[:2] == ["True", "Reactivated"]:
            return True
    return False


def child_lost(world: World, number: int) -> bool:
    """Whether a Cohort that may have had a parent was deleted up to this step."""
    steps = world.steps[: number + 1]
    made = [
        one["metadata"]["name"] for one in world.objects if one["kind"] == "Cohort" and one["spec"].get("parentName")
    ]
    moved = [one.name for one in steps if one.kind == "Cohort" and one.value.get("spec", {}).get("parentName")]
    return any(one.verb == "delete" and one.kind == "Cohort" and one.name in {*made, *moved} for one in steps)


def _has_more_room(there: Seen, here: Seen) -> bool:
    """Whether somebody was let in by Kueue alone who here lacks quota, and nobody the other way round."""
    sides = [(one, here["workloads"][name]) for name, one in there["workloads"].items() if name in here["workloads"]]
    only_there = [ours for one, ours in sides if holds(one) and not holds(ours)]
    told = [one["conditions"].get("QuotaReserved") for one in only_there]
    return (
        bool(told)
        and all(one and "insufficient" in one[2] for one in told)
        and not any(holds(ours) and not holds(one) for one, ours in sides)
    )


def _left_in_between(name: str, known: Mapping[str, Seen], both: Mapping[str, tuple[Seen, Seen]]) -> bool:
    """Whether a workload was evicted in this step on both sides, or made anew under Kueue, or somebody was evicted for it."""
    if name in known and resizings(both[name][1]) > resizings(known[name]):
        return True
    if name in known and all(evictions(side) > evictions(known[name]) for side in both[name]):
        return True
    return any(
        all(
            evictions(side) > evictions(known[other]) and f"uid of {name}," in side["conditions"]["Evicted"][2]
            for side in both[other]
        )
        for other in both.keys() & known.keys()
    )


def _has_other_victims(preemptor: str, known: Mapping[str, Seen], both: Mapping[str, tuple[Seen, Seen]]) -> bool:
    """Whether a workload for which several had to leave in this step got other flavors under Kueue than here."""
    there, here = both[preemptor]
    flavors = [{name: one.get("flavors") for name, one in side["pods"].items()} for side in (there, here)]
    if not holds(there) or flavors[0] == flavors[1]:
        return False
    left = [
        name
        for name in both.keys() & known.keys()
        if all(
            evictions(side) > evictions(known[name]) and f"uid of {preemptor}," in side["conditions"]["Evicted"][2]
            for side in both[name]
        )
    ]
    return len(left) > 1


def _is_blocked_by_checks(there: Seen) -> bool:
    """Whether somebody holds quota under Kueue whose checks are not ready, and somebody waits until all pods are."""
    found = there["workloads"].values()
    waits = any(holds(one) and any(check[0] != "Ready" for check in one["checks"].values()) for one in found)
    return waits and any(map(is_blocked, found))


def _goes_in_vain(name: str, known: Mapping[str, Seen], both: Mapping[str, tuple[Seen, Seen]]) -> bool:
    """Whether Kueue alone has preempted a workload again and again in this step, for one with several pod sets that waits on both sides."""
    before = preemptions(known[name]) if name in known else 0
    there, here = (preemptions(side) - before for side in both[name])
    return (
        there > 2  # noqa: PLR2004 - more often than for once and for what came of it
        and not here
        and any(
            f"uid of {other}," in both[name][0]["conditions"]["Preempted"][2]
            and not any(holds(side) for side in sides)
            and len(sides[0]["requests"]) > 1
            for other, sides in both.items()
        )
    )


def _is_starved(world: World, name: str, earlier: Seen, there: Seen) -> bool:
    """Whether Kueue has not tried a workload in this step, since another one with several pod sets has flavors left for ever."""
    mine = there["workloads"][name]
    known = earlier["workloads"].get(name)
    if mine["conditions"].get("QuotaReserved") != (known["conditions"].get("QuotaReserved") if known else None):
        return False
    return any(
        world.queue_of(other["door"]) == world.queue_of(mine["door"])
        and other["priority"] >= mine["priority"]
        and not holds(other)
        and len(other["requests"]) > 1
        for key, other in there["workloads"].items()
        if key != name
    )


def _is_ghost(world: World, step: Step, before: Seen, there: Seen, here: Seen) -> bool:
    """Whether the head of a StrictFIFO queue was deleted, or its local queue, and Kueue goes on trying it."""
    gone = {"door": step.name} if step.kind == "LocalQueue" else before["workloads"].get(step.name)
    if step.verb == "scale":  # A group of a LeaderWorkerSet goes with its Workload.
        gone = next((one for name, one in before["workloads"].items() if name not in there["workloads"]), None)
    if step.verb not in ("delete", "scale") or gone is None or strategy(world, gone["door"]) != "StrictFIFO":
        return False
    queue = world.queue_of(gone["door"])
    return there["queues"][queue]["pendingWorkloads"] > here["queues"][queue]["pendingWorkloads"]


def _yields(world: World, name: str, other: str, before: Seen, here: Seen) -> bool:
    """Whether a workload got its turn from another one of its queue, which comes before it and was refused as before."""
    mine, its = here["workloads"][name], here["workloads"].get(other)
    if (
        other == name
        or its is None
        or world.queue_of(its["door"]) != world.queue_of(mine["door"])
        or strategy(world, mine["door"]) == "StrictFIFO"
    ):
        return False
    stands = [side["workloads"][other]["conditions"].get("QuotaReserved") for side in (before, here)]
    return its["priority"] >= mine["priority"] and not holds(its) and stands[0] == stands[1]


def _got_turn(preemptor: str, name: str, known: Mapping[str, Seen], both: Mapping[str, tuple[Seen, Seen]]) -> bool:
    """Whether a workload left here alone, for one that had others leave on both sides and then found their room taken."""
    if preemptor not in both or name not in known or not all(holds(side) for side in both[preemptor]):
        return False
    there, here = both[name]
    left = evictions(here) > evictions(known[name]) and evictions(there) == evictions(known[name])
    return (
        left and f"uid of {preemptor}," in here["conditions"]["Evicted"][2] and _left_in_between(preemptor, known, both)
    )
