"""How a workload stands, by what was seen of it and by what its conditions say."""

import re

from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.seen import Seen

ATTEMPT = "couldn't assign flavors to pod set "
NO_LONGER_FITS = "Workload no longer fits after processing another workload"


def preemptions(workload: Seen) -> int:
    """How often it was preempted."""
    return sum(count for reason, _, count in workload["evictions"] if reason == "Preempted")


def evictions(workload: Seen) -> int:
    """How often it was evicted, for whatever reason."""
    return sum(count for _, _, count in workload["evictions"])


def resizings(workload: Seen) -> int:
    """How often it was evicted because its job asks for other pods, of which Kueue makes another Workload."""
    return sum(count for reason, _, count in workload["evictions"] if reason == "NoMatchingWorkload")


def holds(workload: Seen) -> bool:
    """Whether it holds quota."""
    return bool(workload["pods"]) and "Finished" not in workload["conditions"]


def lies_somewhere(workload: Seen) -> bool:
    """Whether it holds domains of a topology."""
    return holds(workload) and any(one.get("domains") for one in workload["pods"].values())


def is_blocked(workload: Seen) -> bool:
    """Whether it waits until all pods that were let in are ready."""
    return workload["conditions"].get("QuotaReserved", ["", ""])[1] == "Waiting"


def waits(condition: list[str] | None) -> bool:
    """Whether it was refused, or has not been tried yet."""
    return condition is None or (condition[0] == "False" and condition[2].startswith((ATTEMPT, "Preempted to ")))


def lacks_for_now(condition: list[str] | None) -> bool:
    """Whether it was refused for want of quota that others have, and for nothing else: how much there is of it changes all the time."""
    if condition is None:
        return False
    left = re.sub(r"insufficient unused quota for \S+ in flavor \S+, \S+ more needed(, )?", "", condition[2])
    return not re.sub(rf"(; )?{ATTEMPT}\S+: ", "", left)


def lacks_room(condition: list[str] | None) -> bool:
    """Whether it was refused because its pods found no place in the topology."""
    return condition is not None and bool(
        re.fullmatch(rf'{ATTEMPT}\S+: topology "\S+" (doesn\'t allow|allows) .*', condition[2])
    )


def stays_deactivated(workload: Seen) -> bool:
    """Whether a rule has deactivated it, and no manager has made it of a job."""
    by_rule = workload["conditions"].get("Evicted", ["", ""])[1].startswith("DeactivatedDueTo")
    return by_rule and not workload["active"] and "made" not in workload


def is_led(world: World, name: str) -> bool:
    """Whether it is one of a leader and workers that lie together."""
    return any("podSetGroupName" in one.get("topologyRequest", {}) for one in world.pods_of(name))


def is_closed(condition: list[str]) -> bool:
    """Whether it waits because its queue takes nothing in, or is not there."""
    return condition[1] == "Inadmissible" and bool(
        re.fullmatch(r"(Local|Cluster)Queue \S+ (is inactive|doesn't exist)", condition[2])
    )


def is_news(condition: list[str] | None) -> bool:
    """Whether it waits because of how its queue stands by now."""
    return condition is not None and condition[2].endswith(("is inactive", "doesn't match ClusterQueue selector"))


def strategy(world: World, door: str) -> str:
    """The queueing strategy of the ClusterQueue behind a local queue."""
    name = world.queue_of(door)
    queues = {one["metadata"]["name"]: one["spec"] for one in world.objects if one["kind"] == "ClusterQueue"}
    return queues.get(name, {}).get("queueingStrategy", "BestEffortFIFO")


def are_flavors_of_one(there: str, here: str, seen: Seen) -> bool:
    """Whether these are two flavors of the same pod set, each of another resource."""
    pods = (found for workload in seen["workloads"].values() for found in workload["pods"].values())
    return there != here and any({there, here} <= set(found["flavors"].values()) for found in pods)


def lacks_pods(one: Seen) -> bool:
    """Whether it is a group that waits until its pods are replaced."""
    return one["conditions"].get("WaitingForReplacementPods", [""])[0] == "True"


def had_a_turn_by_its_class(world: World, step: Step, name: str, before: Seen, here: Seen) -> bool:
    """Whether Kueue alone has tried it, in a StrictFIFO queue in which another one of its new priority waits, when that of a class has changed."""
    mine, known = here["workloads"][name], before["workloads"].get(name)
    if step.kind != "WorkloadPriorityClass" or known is None or known["priority"] == mine["priority"]:
        return False
    return strategy(world, mine["door"]) == "StrictFIFO" and any(
        world.queue_of(one["door"]) == world.queue_of(mine["door"])
        and one["priority"] == mine["priority"]
        and not holds(one)
        for other, one in here["workloads"].items()
        if other != name
    )
