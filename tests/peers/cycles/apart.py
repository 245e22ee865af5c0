"""Where one cycle of Kueue's scheduler and one of kuelog come to different decisions, and which of these differences are meant.

Compared is who holds what, who is preempted for whom, and whose place is taken by another slice. What those are told
that wait is printed beside a difference and compared by `make differences`: Kueue looks at resources in any order, and
names others each time. A tree of queues in which something is meant is not compared any further: who is passed over
leaves room, and others take it.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from events.api.labels import WORKLOAD_SLICE_REPLACEMENT_FOR
from events.json_object import JsonObject
from tests.peers.cycles.answer import Answer, Told
from tests.peers.cycles.world import NAME, World
from tests.peers.worlds.difference import Difference, differences
from tests.peers.worlds.standing import NO_LONGER_FITS

(
    OWNERS_FIRST,
    NO_RETURN,
    STUCK,
    NOBODY_THERE,
    FREED_TWICE,
    CROWDED,
    PLACED_TWICE,
    LED,
    STAY_TWICE,
    AT_ONCE,
    RUNS_ON,
    ALONE,
    CHANCE,
) = (
    "owners first",
    "no return",
    "stuck on a flavor",
    "nobody there",
    "freed twice",
    "crowded hosts",
    "placed twice",
    "led otherwise",
    "those that stay twice",
    "another host at once",
    "runs on in a stopped queue",
    "alone under fair sharing",
    "by chance",
)
MEANT = {
    OWNERS_FIRST: "nobody borrows what the owner's next takes back at once: docs/rules/cycle.md#owners-first",
    NO_RETURN: "nobody is preempted by his share who could take his place back: docs/rules/fair-sharing.md#no-return",
    STUCK: "Kueue 0.17 takes a flavor for one that fits by the resource that borrows highest: docs/rules/flavors.md#modes",
    NOBODY_THERE: "Kueue 0.17 may prefer a flavor on which there is nobody to preempt to one that fits: docs/rules/flavors.md#preference",
    FREED_TWICE: "Kueue takes off twice what a replaced slice holds: for its next slice, and for those that come later in the cycle",
    CROWDED: "Kueue 0.17 sends more pods to a host than it takes: docs/rules/topology.md#other-domains",
    PLACED_TWICE: "Kueue 0.17 counts pods that it has placed in a cycle once for each of their resources: docs/rules/topology.md#other-domains",
    LED: "Kueue 0.17 counts on a leader also where none finds room, and lets it and its workers in without a place: docs/rules/topology.md#groups",
    STAY_TWICE: "Kueue 0.17 counts pods of a job that grows twice, where they were and where they stay: docs/rules/topology.md#elastic",
    AT_ONCE: "Kueue looks for other hosts of all at once, and for places of those that wait, and evicts who finds his taken: docs/rules/topology.md#second-pass",
    RUNS_ON: "for who runs in a queue that takes nothing in any more Kueue looks for no other host when his has failed: docs/rules/topology.md#second-pass",
    ALONE: "Kueue's scheduler panics under fair sharing where the workloads of a queue without a cohort make too little room",
    CHANCE: "Kueue's scheduler, asked about the same world again, decides otherwise",
}
_PREEMPTOR = re.compile(r"\(UID: ([^,)]+)")
_ORDERING = "(*TargetClusterQueueOrdering).Iter"
_BY_SHARE = "InCohortFairSharing"


def apart(world: World, there: Answer, here: Answer) -> dict[str, list[Difference]]:
    """By tree, where decisions differ."""
    tree_of = _trees(world)
    found: dict[str, list[Difference]] = {}
    for one in differences(_decisions(there), _decisions(here), ()):
        found.setdefault(tree_of[one.path[0]], []).append(one)
    return found


def why_meant(world: World, there: Answer, here: Answer, differing: Sequence[Difference]) -> str:
    """The name of what is meant in a tree in which decisions differ; empty where nothing is."""
    names = {one.path[0] for one in differing}
    concerned = _concerned(world, there, here, names)
    if any(_is_stuck(world, there, here, name) for name in concerned):
        return STUCK
    if any(_has_nobody_there(world, there, here, name) for name in concerned):
        return NOBODY_THERE
    if any(_is_passed_over(world, there, here, name) for name in concerned):
        return OWNERS_FIRST
    if any(_takes_room_of_a_slice(world, there, here, name) for name in concerned):
        return FREED_TWICE
    if world.topologies and (found := _why_placed_otherwise(world, there, here, names, concerned)):
        return found
    if world.fair and any(_could_return(world, there, here, name) for name in names):
        return NO_RETURN
    return ""


def _why_placed_otherwise(
    world: World, there: Answer, here: Answer, names: Collection[str], concerned: Collection[str]
) -> str:
    if any(_has_failed_while_stopped(world, one) for one in world.workloads if one["metadata"]["name"] in names):
        return RUNS_ON
    if _seek_hosts_at_once(world):
        return AT_ONCE
    if _crowds_hosts(world, there) or any(_is_crowded_in(world, there, here, name) for name in concerned):
        return CROWDED
    if any(_is_refused_place(world, there, here, name) for name in concerned):
        return PLACED_TWICE
    if any(_lies_beside_a_slice(world, there, name) for name in concerned):
        return STAY_TWICE
    if any(_is_led(world, name) for name in concerned):
        return LED
    return ""


def breaks_off(world: World, there: Answer) -> bool:
    """Whether Kueue's scheduler panics as it does about a queue without a cohort."""
    alone = any("cohortName" not in one["spec"] for one in world.cluster_queues)
    return world.fair and alone and there.error.startswith("panic: ") and _ORDERING in there.error


def shown(world: World, there: Answer, here: Answer, differing: Sequence[Difference]) -> list[str]:
    """The differences of a tree, and what is told there to those that wait."""
    tree_of = _trees(world)
    trees = {tree_of[one.path[0]] for one in differing}
    lines = [f"  {one}" for one in differing]
    for name in sorted({*there.pending, *here.pending}):
        told = [one.pending[name].message if name in one.pending else "nothing" for one in (there, here)]
        if tree_of[name] in trees and told[0] != told[1]:
            lines.append(f"    {name} is told by Kueue: {told[0]}")
            lines.append(f"    {' ' * len(name)} is told by kuelog: {told[1]}")
    return lines


def _decisions(answer: Answer) -> dict[str, dict[str, Any]]:
    """By workload, what was decided about it, as it is compared and printed."""
    found: dict[str, dict[str, Any]] = {}
    for name, sets in answer.holds.items():
        found.setdefault(name, {})["holds"] = {
            one.name: f"{one.count} pods on {_listed(one.flavors)} with {_listed(one.usage)}{_at(one.places)}"
            for one in sets
        }
    for name, told in answer.preempted.items():
        found.setdefault(name, {})["preempted"] = f"{told.reason}: {told.message}"
    for name in answer.evicted:
        found.setdefault(name, {})["evicted"] = True
    for name in answer.finished:
        found.setdefault(name, {})["finished"] = True
    return found


def _at(places: Mapping[str, int]) -> str:
    return "".join(f", {count} at {domain}" for domain, count in sorted(places.items()))


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in sorted(values.items()))


def _trees(world: World) -> dict[str, str]:
    """By workload, the cohort, or the queue alone, in which its quota is shared."""
    parents = {one["metadata"]["name"]: one["spec"].get("parentName", "") for one in world.cohorts}

    def root(cohort: str) -> str:
        return root(parents[cohort]) if parents.get(cohort) else cohort

    queues = {name: root(one["spec"].get("cohortName", "")) or name for name, one in _queues(world).items()}
    return {one["metadata"]["name"]: queues[_queue(one)] for one in world.workloads}


def _queues(world: World) -> dict[str, JsonObject]:
    return {one["metadata"]["name"]: one for one in world.cluster_queues}


def _queue(workload: JsonObject) -> str:
    """Its ClusterQueue, whose name its LocalQueue has as well."""
    return workload["spec"]["queueName"]


def _waiting(world: World) -> dict[str, JsonObject]:
    return {one["metadata"]["name"]: one for one in world.workloads if "admission" not in one["status"]}


def _concerned(world: World, there: Answer, here: Answer, names: set[str]) -> set[str]:
    """Those that wait, among these or as those for whom these are preempted."""
    uids = {_preemptor(one.preempted.get(name)) for name in names for one in (there, here)}
    return {name for name, one in _waiting(world).items() if name in names or one["metadata"]["uid"] in uids}


def _is_passed_over(world: World, there: Answer, here: Answer, name: str) -> bool:
    """Whether kuelog says nothing of the head of a queue that Kueue has borrow, while it decides about somebody of another queue."""
    waiting, tree_of = _waiting(world), _trees(world)
    own = {other for other, one in waiting.items() if _queue(one) == _queue(waiting[name])}
    others = {other for other in waiting if tree_of[other] == tree_of[name]} - own
    if own & set(here.decided) or not others & set(here.decided):
        return False
    return name not in there.holds or _borrows(world, there, name)


def _rather_preempts(world: World, there: Answer, here: Answer, name: str) -> bool:
    """Whether it gets on here alone, in a queue that would rather preempt than borrow."""
    preference = _queues(world)[_queue(_waiting(world)[name])]["spec"]["flavorFungibility"].get("preference")
    gets_on = name in here.holds or _preempts(world, here, name)
    return preference == "PreemptionOverBorrowing" and gets_on and name not in there.holds


def _is_stuck(world: World, there: Answer, here: Answer, name: str) -> bool:
    """Whether Kueue refuses it after it has taken it for one that fits, or preempts for it, by one of several resources."""
    one = _waiting(world)[name]
    requests = [_requests(pods["template"]["spec"]) for pods in one["spec"]["podSets"]]
    told = there.pending.get(name)
    refused = told is not None and told.message == NO_LONGER_FITS
    several = any(len(amounts) > 1 for amounts in requests)
    return _rather_preempts(world, there, here, name) and several and (refused or _preempts(world, there, name))


def _preempts(world: World, answer: Answer, name: str) -> bool:
    """Whether somebody makes room for it."""
    uid = _waiting(world)[name]["metadata"]["uid"]
    return any(_preemptor(victim) == uid for victim in answer.preempted.values())


def _has_nobody_there(world: World, there: Answer, here: Answer, name: str) -> bool:
    """Whether it borrows here, and Kueue waits for quota that nobody gives it."""
    told = there.pending.get(name)
    waits = told is not None and "insufficient unused quota" in told.message and "preemption of" not in told.message
    return _rather_preempts(world, there, here, name) and waits and _borrows(world, here, name)


def _borrows(world: World, answer: Answer, name: str) -> bool:
    """Whether it holds by this answer what its queue has not of its own."""
    queue = _queue(_waiting(world)[name])
    nominal = _nominal(_queues(world)[queue])
    used: dict[tuple[str, str], int] = {}
    for one in world.workloads:
        if _queue(one) == queue:
            for column, amount in _usage(answer, one["metadata"]["name"]):
                used[column] = used.get(column, 0) + amount
    return any(used[column] > nominal.get(column, 0) for column, _ in _usage(answer, name))


def _usage(answer: Answer, name: str) -> list[tuple[tuple[str, str], int]]:
    return [
        ((one.flavors[resource], resource), int(amount))
        for one in answer.holds.get(name, ())
        for resource, amount in one.usage.items()
        if resource in one.flavors
    ]


def _nominal(queue: JsonObject) -> dict[tuple[str, str], int]:
    return {
        (flavor["name"], quota["name"]): int(quota["nominalQuota"])
        for group in queue["spec"]["resourceGroups"]
        for flavor in group["flavors"]
        for quota in flavor["resources"]
    }


def _takes_room_of_a_slice(world: World, there: Answer, here: Answer, name: str) -> bool:
    """Whether Kueue lets in, or preempts for, who finds no room any more here, where it has taken a slice off for the next one."""
    tree_of, told = _trees(world), here.pending.get(name)
    slices = [one for one, value in _waiting(world).items() if _is_next_slice(value)]
    replaces = any(tree_of[one] == tree_of[name] and _gets_on(there, one) for one in slices)
    refused = told is not None and told.message == NO_LONGER_FITS
    return replaces and refused and (name in there.holds or _preempts(world, there, name))


def _crowds_hosts(world: World, answer: Answer) -> bool:
    """Whether by this answer pods ask for more in a domain than its nodes have."""
    level = world.topologies[0]["spec"]["levels"][-1]["nodeLabel"]
    leaf = {one["metadata"]["name"]: one["metadata"]["labels"].get(level, "") for one in world.nodes}
    left = Counter[tuple[str, str]]()
    for one in world.nodes:
        left.update({(leaf[one["metadata"]["name"]], name): int(amount) for name, amount in _room(one)})
    for pod in world.pods:
        left.subtract({(leaf[pod["spec"]["nodeName"]], name): amount for name, amount in _asked(pod["spec"])})
    for workload in world.workloads:
        templates = {one["name"]: one["template"]["spec"] for one in workload["spec"]["podSets"]}
        for held in answer.holds.get(workload["metadata"]["name"], ()):
            for place, count in held.places.items():
                asked = _asked(templates[held.name])
                left.subtract({(place.rpartition("/")[2], name): amount * count for name, amount in asked})
    return any(amount < 0 for amount in left.values())


def _is_crowded_in(world: World, there: Answer, here: Answer, name: str) -> bool:
    """Whether Kueue has looked at each of its pod sets alone, and here there is no room for all of them, beside others of the cycle."""
    told, sets = here.pending.get(name), there.holds.get(name, ())
    shared = Counter(place for one in sets for place in one.places)
    preempts = len(_waiting(world)[name]["spec"]["podSets"]) > 1 and _preempts(world, there, name)
    refused = told is not None and told.message == NO_LONGER_FITS
    return refused and (preempts or any(times > 1 for times in shared.values()))


def _room(node: JsonObject) -> list[tuple[str, str]]:
    return list(node["status"]["allocatable"].items())


def _asked(pod: JsonObject) -> list[tuple[str, int]]:
    """What one pod takes of its node: what it requests, and its place among the pods."""
    return [("pods", 1), *((name, int(amount)) for name, amount in _requests(pod).items())]


def _requests(pod: JsonObject) -> dict[str, str]:
    return pod["containers"][0]["resources"]["requests"]


def _is_refused_place(world: World, there: Answer, here: Answer, name: str) -> bool:
    """Whether Kueue refuses, after it has counted the place of somebody with several resources, who finds his own here."""
    told = there.pending.get(name)
    counted = any(
        len(_requests(pods["template"]["spec"])) > 1
        for other, one in _waiting(world).items()
        if other != name
        for pods in one["spec"]["podSets"]
    )
    gets_on = name in here.holds or _preempts(world, here, name)
    return counted and told is not None and told.message == NO_LONGER_FITS and gets_on


def _is_led(world: World, name: str) -> bool:
    """Whether a leader is to lie beside its workers."""
    asked = [one.get("topologyRequest", {}) for one in _waiting(world)[name]["spec"]["podSets"]]
    return any("podSetGroupName" in one for one in asked)


def _has_failed_while_stopped(world: World, workload: JsonObject) -> bool:
    """Whether its host has failed, and its queue takes nothing in, or nothing of its namespace."""
    queue: JsonObject = _queues(world)[_queue(workload)]["spec"]
    admitted = queue["namespaceSelector"].get("matchLabels", {}).get(NAME, workload["metadata"]["namespace"])
    closed = "stopPolicy" in queue or admitted != workload["metadata"]["namespace"]
    return "unhealthyNodes" in workload["status"] and closed


def _seek_hosts_at_once(world: World) -> bool:
    """Whether somebody's host has failed, and others of the cycle look for a place beside him."""
    failed = [one for one in world.workloads if "unhealthyNodes" in one["status"]]
    return bool(failed) and len(failed) + len(_waiting(world)) > 1


def _lies_beside_a_slice(world: World, there: Answer, name: str) -> bool:
    """Whether it is the next slice of a job, or Kueue refuses it beside one."""
    told, slices = there.pending.get(name), {one for one, value in _waiting(world).items() if _is_next_slice(value)}
    refused = told is not None and told.message == NO_LONGER_FITS
    return name in slices or (refused and any(_gets_on(there, one) for one in slices))


def _is_next_slice(workload: JsonObject) -> bool:
    return WORKLOAD_SLICE_REPLACEMENT_FOR in workload["metadata"].get("annotations", {})


def _gets_on(answer: Answer, name: str) -> bool:
    """Whether it is let in, or waits for victims."""
    told = answer.pending.get(name)
    return name in answer.holds or (told is not None and "Pending the preemption of" in told.message)


def _could_return(world: World, there: Answer, here: Answer, name: str) -> bool:
    """Whether Kueue preempts somebody by his share who may take his place back, and kuelog spares him, or preempts this one as well so that he can't."""
    one = there.preempted.get(name)
    if one is not None:
        return _preemptor(here.preempted.get(name)) != _preemptor(one) and _may_take_back(world, name, one)
    uid = _preemptor(here.preempted.get(name))
    return bool(uid) and any(
        _preemptor(told) == uid and other in here.preempted and _may_take_back(world, other, told)
        for other, told in there.preempted.items()
    )


def _may_take_back(world: World, name: str, told: Told) -> bool:
    """Whether it is preempted by its share, and its queue may preempt the one that it makes room for."""
    victim = next(one for one in world.workloads if one["metadata"]["name"] == name)
    policy: str = _queues(world)[_queue(victim)]["spec"]["preemption"]["reclaimWithinCohort"]
    preemptor = next(one for one in world.workloads if one["metadata"]["uid"] == _preemptor(told))
    lower = victim["spec"]["priority"] > preemptor["spec"]["priority"]
    return told.reason == _BY_SHARE and (policy == "Any" or (policy == "LowerPriority" and lower))


def _preemptor(told: Told | None) -> str:
    """The UID of the one that somebody makes room for."""
    found = _PREEMPTOR.search(told.message) if told is not None else None
    return found[1] if found else ""
