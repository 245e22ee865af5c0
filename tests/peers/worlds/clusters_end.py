"""Why a world of several clusters goes on otherwise under Kueue than under kuelog from a step on; the reasons are in `compared.py`."""

from collections.abc import Iterator, Mapping
from typing import Any

from events.api.labels import PRIORITY_CLASS
from tests.peers.worlds.clusters import MANAGER, WORKERS, ClustersWorld
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.standing import evictions, holds, preemptions, strategy

Side = Mapping[str, Seen]
"""By place, what is seen there."""


def why_clusters_end(world: ClustersWorld, number: int, before: Side, there: Side, here: Side) -> str:  # noqa: C901 - one reason after the other
    """The name of a difference after a step after which it is compared no more; empty while it is."""
    if _left_the_configuration(_configured(world, number), there[MANAGER], here[MANAGER]):
        return "left the configuration"
    if any(
        _is_shown_as_connected(name, told, here[MANAGER]) for name, told in there[MANAGER].get("standing", {}).items()
    ):
        return "shown as connected"
    if _is_left_behind(world, _configured(world, number), there, here):
        return "left behind"
    if _is_left_until_collected(there, here):
        return "left until collected"
    if any(_lost_its_copy(name, one, there) for name, one in here[MANAGER]["workloads"].items()):
        return "without a copy"
    if any(_is_never_named(name, one, there) for name, one in there[MANAGER]["workloads"].items()):
        return "never named"
    if any(
        _is_not_named_yet(one, there[MANAGER], here[MANAGER]["workloads"].get(name, one))
        for name, one in there[MANAGER]["workloads"].items()
    ):
        return "not named yet"
    if any(_waits_for_its_class(name, one, there[MANAGER]) for name, one in there[MANAGER]["workloads"].items()):
        return "class while it holds quota"
    if any(_has_ghost(world, place, there[place], here[place]) for place in WORKERS):
        return "ghost head"
    if _moves_while_tried(world, number, there):
        return "moves while it is tried"
    if _goes_on_otherwise_than_kept(world, number, before, there, here):
        return "copy kept"
    if any(_is_of_another_template(world, number, there[place], here[place]) for place in WORKERS):
        return "same containers"
    if _was_rejected_early(there[MANAGER], here[MANAGER]):
        return "rejected without quota"
    if any(_in_another_order(there[place], here[place]) for place in WORKERS):
        return "order of copies"
    if any(_lost_its_object(one, there[MANAGER]) for one in here[MANAGER]["workloads"].values()):
        return "cluster deleted"
    if _holders(there[MANAGER]) != _holders(here[MANAGER]):
        return "first back in line" if _came_back(before[MANAGER], there[MANAGER], here[MANAGER]) else ""
    return "either cluster" if _places(there[MANAGER]) != _places(here[MANAGER]) and _both_admit(there, here) else ""


def _configured(world: ClustersWorld, number: int) -> list[str]:
    """The clusters of the configuration after a step."""
    first = next(one for one in world.objects[MANAGER] if one["kind"] == "MultiKueueConfig")
    steps = [one.step.value for one in world.steps[: number + 1] if one.step.kind == "MultiKueueConfig"]
    return [first, *steps][-1]["spec"]["clusters"]


def _left_the_configuration(clusters: list[str], there: Seen, here: Seen) -> bool:
    """Whether one that runs in a cluster that is not in the configuration any more goes on here, and Kueue hears nothing of it."""
    for name, one in here["workloads"].items():
        theirs = there["workloads"].get(name, one)
        if (theirs["cluster"] or one["cluster"] or clusters[0]) in clusters:
            continue
        if one["conditions"].keys() != theirs["conditions"].keys() or evictions(one) != evictions(theirs):
            return True
    return False


def _is_left_until_collected(there: Side, here: Side) -> bool:
    """Whether a copy stays in a worker on one side alone whose job is gone from the manager.

    Under Kueue what is in a worker that can't be reached may be collected by the connection of another world.
    """
    return any(
        "copy" in one and name not in there[MANAGER]["workloads"] and name not in other[place]["workloads"]
        for side, other in ((there, here), (here, there))
        for place in WORKERS
        for name, one in side[place]["workloads"].items()
    )


def _is_shown_as_connected(name: str, told: list[str], here: Seen) -> bool:
    """Whether Kueue shows a cluster as connected that nobody reaches."""
    ours = here["standing"].get(name, told)
    return name.startswith("cluster ") and told[0] == "True" and ours[1] == "ClientConnectionFailed"


def _is_left_behind(world: ClustersWorld, clusters: list[str], there: Side, here: Side) -> bool:
    """Whether a copy stays under Kueue in a worker that is not in the configuration any more, and has gone here."""
    return any(
        "copy" in one and name not in here[place]["workloads"]
        for place in WORKERS
        if f"{world.space}-{place}" not in clusters
        for name, one in there[place]["workloads"].items()
    )


def _lost_its_copy(name: str, one: Seen, there: Side) -> bool:
    """Whether it was tried anew here because its copy is gone, and runs on under Kueue as if its cluster were lost."""
    theirs = there[MANAGER]["workloads"].get(name, one)
    gone = bool(theirs["cluster"]) and all(name not in there[place]["workloads"] for place in WORKERS)
    lost = any("Admitting remote no longer exists" in message for *_, message in one["conditions"].values())
    return (gone or lost) and evictions(one) > evictions(theirs)


def _is_never_named(name: str, one: Seen, there: Side) -> bool:
    """Whether a worker admits a copy of who is tried nowhere by what it shows."""
    nowhere = holds(one) and bool(one["checks"]) and not one["nominated"] and not one["cluster"]
    return nowhere and any(holds(there[place]["workloads"].get(name, {"pods": {}})) for place in WORKERS)


def _is_not_named_yet(one: Seen, there: Seen, ours: Seen) -> bool:
    """Whether it is tried elsewhere under Kueue, and not in a cluster that is connected and in which it is tried, or was taken, here."""
    active = [
        name.partition(" ")[2]
        for name, told in there.get("standing", {}).items()
        if name.startswith("cluster ") and told[0] == "True"
    ]
    tried = {ours["cluster"], *ours["nominated"]}
    return bool(one["nominated"]) and not one["cluster"] and bool(tried & set(active) - {*one["nominated"]})


def _waits_for_its_class(name: str, one: Seen, there: Seen) -> bool:
    """Whether it holds quota without the class that its job has got since."""
    labels = there["jobs"].get(name, {}).get("labels", {})
    return (
        holds(one) and PRIORITY_CLASS in labels and "priorityClassRef" not in one.get("made", {"spec": labels})["spec"]
    )


def _has_ghost(world: ClustersWorld, place: str, there: Seen, here: Seen) -> bool:
    """Whether more wait in a strict queue of a worker than there are workloads, since its head was deleted."""
    for door, told in there["doors"].items():
        waits = [one for one in there["workloads"].values() if one["door"] == door and not holds(one)]
        counted = told["pendingWorkloads"]
        if strategy(world.at(place), door) == "StrictFIFO" and counted > max(
            len(waits), here["doors"].get(door, told)["pendingWorkloads"]
        ):
            return True
    return False


def kept_copies(there: Seen, here: Seen) -> Iterator[str]:
    """Copies that were evicted under Kueue, and here are others that never were."""
    for name, one in there["workloads"].items():
        ours = here["workloads"].get(name)
        if ours is not None and "copy" in one and "copy" in ours and evictions(one) and not evictions(ours):
            yield name


def _line_of_kept(there: Seen, here: Seen) -> bool:
    """Whether others wait in the line of such a copy, in which the one that was made anew comes later, or it was deactivated, and runs no more."""
    workloads = there["workloads"]
    return any(
        not workloads[name]["active"]
        or any(
            other != name
            and one["door"] == workloads[name]["door"]
            and not holds(one)
            and "Finished" not in one["conditions"]
            for other, one in workloads.items()
        )
        for name in kept_copies(there, here)
    )


def _goes_on_otherwise_than_kept(world: ClustersWorld, number: int, before: Side, there: Side, here: Side) -> bool:
    """Whether others go on otherwise since a copy was kept that was evicted in its worker, or the manager has heard of that here alone."""
    heard = any(
        evictions(here[MANAGER]["workloads"][name]) > evictions(one)
        for place in WORKERS
        for name in kept_copies(there[place], here[place])
        if (one := there[MANAGER]["workloads"].get(name)) is not None and name in here[MANAGER]["workloads"]
    )
    in_line = any(_line_of_kept(there[place], here[place]) for place in WORKERS)
    return heard or in_line or _is_done_to_kept(world, number, before, there, here)


def _moves_while_tried(world: ClustersWorld, number: int, there: Side) -> bool:
    """Whether a job names another queue in this step while it holds quota and is tried elsewhere in the queue of before."""
    placed = world.steps[number]
    mine = there[MANAGER]["workloads"].get(placed.step.name)
    moved = placed.step.verb == "move" and MANAGER in placed.places
    return moved and mine is not None and holds(mine) and not mine["cluster"]


def _is_done_to_kept(world: ClustersWorld, number: int, before: Side, there: Side, here: Side) -> bool:
    """Whether something is done to a job in a worker that was there by such a copy alone."""
    step = world.steps[number].step
    return step.kind == "Job" and any(
        evictions(before[place]["workloads"].get(step.name, {"evictions": []}))
        and step.name in before[place]["jobs"]
        and (step.name in there[place]["workloads"]) != (step.name in here[place]["workloads"])
        for place in world.steps[number].places
        if place in WORKERS
    )


def _is_of_another_template(world: ClustersWorld, number: int, there: Seen, here: Seen) -> bool:
    """Whether a job or its copy in a worker has other pods since somebody changed the template of the job in the manager."""
    changed = {
        one.step.name
        for one in world.steps[: number + 1]
        if MANAGER in one.places and "template" in one.step.value.get("spec", {}) and one.step.verb == "merge"
    }
    return any(_pods_of(name, there) != _pods_of(name, here) for name in changed)


def _pods_of(name: str, side: Seen) -> tuple[Any, Any]:
    job, copy = side["jobs"].get(name, {}), side["workloads"].get(name, {}).get("copy", {})
    return job.get("nodeSelector"), copy.get("podSets")


def _was_rejected_early(there: Seen, here: Seen) -> bool:
    """Whether who may not run elsewhere is rejected under Kueue while it holds no quota yet."""
    return any(
        state == "Rejected" and one["active"] != here["workloads"].get(name, one)["active"]
        for name, one in there["workloads"].items()
        for state, *_ in one["checks"].values()
    )


def _in_another_order(there: Seen, here: Seen) -> bool:
    """Whether of copies of one priority that wait in one line of a worker another one has been let in on each side."""
    both = there["workloads"].keys() & here["workloads"].keys()
    first, other = ({name for name in both if holds(side["workloads"][name])} for side in (there, here))
    found = [there["workloads"][name] for name in first ^ other]
    alike = {(one["door"], one["priority"], "copy" in one) for one in found}
    return bool(first - other) and bool(other - first) and len(alike) == 1 and "copy" in found[0]


def _lost_its_object(one: Seen, there: Seen) -> bool:
    """Whether it was tried anew here because the object of its cluster is gone."""
    clusters = [name for name in there.get("standing", {}) if name.startswith("cluster ")]
    lost = any("Admitting remote lost" in message for *_, message in one["conditions"].values())
    return lost and len(clusters) < len(WORKERS)


def _holders(side: Seen) -> set[tuple[str, int]]:
    """Who holds quota, with how often it was preempted."""
    return {(name, preemptions(one)) for name, one in side["workloads"].items() if holds(one) or preemptions(one)}


def _came_back(before: Seen, there: Seen, here: Seen) -> bool:
    """Whether somebody was evicted in this step by what a worker has said, and somebody else has its room on one side."""
    return any(
        evictions(one) > evictions(before["workloads"].get(name, {"evictions": []}))
        and any(reason == "AdmissionCheck" for reason, *_ in one["evictions"])
        for side in (there, here)
        for name, one in side["workloads"].items()
    )


def _places(side: Seen) -> dict[str, str | None]:
    return {name: one["cluster"] for name, one in side["workloads"].items()}


def _both_admit(there: Side, here: Side) -> bool:
    """Whether one that runs in another cluster on each side may run in both: the queues of both take in."""
    doors = [
        one["door"]
        for name, one in there[MANAGER]["workloads"].items()
        if one["cluster"] != here[MANAGER]["workloads"].get(name, one)["cluster"]
    ]
    return all(
        there[place]["doors"].get(door, {"conditions": {}})["conditions"].get("Active", [""])[0] == "True"
        for place in WORKERS
        for door in doors
    )
