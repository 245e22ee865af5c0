"""Where Kueue and kuelog came to different ends, and which of these differences are meant.

A difference that is meant has its name and its reason here, and is told apart as narrowly as it can be.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.peers.worlds.drawn import Step, World
from tests.peers.worlds.seen import Seen

MEANT = {
    "kept message": "who waits is not tried again while nothing has changed that could let it in: docs/rules/queues.md#retry",
    "head in flight": "Kueue does not count who is tried at the moment among those that wait at a local queue, and counts anew only when something changes",
    "says one and the other": "Kueue tries a head in another order of resources, or on other flavors, again and again, and says something else each time",
    "pods of none tried": "Kueue shows how many pods are charged only once a flavor was looked at for them",
    "ghost head": "Kueue 0.17 puts the head of a StrictFIFO queue that is deleted while it is tried back into line, and tries nobody behind it any more",
    "preempted for ever": "two that preempt each other do so for ever, under Kueue until chance ends it: docs/rules/preemption.md#loops",
    "not told anew": "Kueue says anew how a share stands, how many wait when their local queue is gone, that a queue is inactive, or that a namespace does not match, only when it happens to look again",
    "later checks": "later versions of Kueue, whose rules kuelog has, require checks for all flavors of who waits beside others for some, and drop these",
    "order of checks": "Kueue names the checks that are missing in any order",
    "order of resources": "Kueue looks at the resources of a pod set in any order, and at no other one after one of which there never is enough",
    "blocked by checks": "under blockAdmission Kueue 0.17 lets nobody in while somebody waits for its checks, whose pods can't be ready: docs/rules/cycle.md#block-admission",
    "class by turns": "Kueue gives workloads of a class that changes their new priority one after the other, and may try one as the head of a StrictFIFO queue that is none when all have it",
    "led without a place": "Kueue 0.17 takes a leader and its workers for placed where no place is left for one of them, and is refused by its API server for ever: docs/rules/topology.md#slice-placement",
    "silent class": "Kueue says nothing to who comes after one like it was refused, 0.17 for its namespace as well",
    "stuck on a flavor": "Kueue 0.17 takes a flavor for one that fits by the resource that borrows highest, and tries it for ever: docs/rules/flavors.md#modes",
    "done of fewer": "Kueue counts pods that are done off those that were asked for, where fewer were let in: docs/rules/quota.md#charged-usage",
    "gated or inactive": "Kueue says of who is gated in a queue that takes nothing in, in turns for ever, that it is gated and that the queue is inactive",
    "no name": "Kueue may look at a workload when it has seen its local queue and does not hold it in its queues yet, which then have no name of a ClusterQueue for it",
    "not reactivated": "Kueue 0.17 leaves who was deactivated by its own rules waiting for ever when it is set active again",
    "overtaken": "Kueue compares why it refuses somebody with what it has heard itself say, which may be older than what it has said since",
    "deleted child": "Kueue 0.17 goes on counting what a Cohort gave to its parent after it was deleted",
    "target left": "Kueue sets the target of who has run too long once more when it is inactive already, before its quota is back",
    "later message": "later versions of Kueue, whose rules kuelog has, word it so",
    "gathered for a second": "Kueue moves who was refused back into line a second later than who was evicted, or waits for its victims, or heads a StrictFIFO queue: that one gets the room in the meantime",
    "flavors in turn": "Kueue goes on for ever with pod sets that have different flavors left, and tries nobody behind them, or preempts somebody again and again for them: docs/rules/flavors.md#scan-progress",
    "room in between": "who is evicted by a check and may come back at once leaves its room for a moment to who was preempted for it",
    "refused head yields": "a head that is refused as before leaves its turn to the next of its queue: docs/rules/cycle.md#heads",
}
"""By name, why what is different is meant, or is chance on Kueue's side."""
_HAPPENED = frozenset(
    {"class by turns", "gathered for a second", "no name", "room in between", "silent class", "not told anew"}
)
"""Names of differences that one step makes, and that nothing of the steps behind it shows."""
_USE = frozenset({"flavorsReservation", "flavorsUsage", "share", "pendingWorkloads"})
"""What queues show of what is used of them, and how many wait, of whom one may be on its way."""
_NO_LONGER_FITS = "Workload no longer fits after processing another workload"
_ATTEMPT = "couldn't assign flavors to pod set "


class Difference(NamedTuple):
    """A place where both differ."""

    path: tuple[str, ...]
    there: Any
    here: Any

    def __str__(self) -> str:
        """As it is printed."""
        return f"{'/'.join(self.path)}: Kueue {self.there!r}, kuelog {self.here!r}"


_LATER = (
    (r"At least one admission check is false$", r"Evicted due to AdmissionChecks? in Retry state: .*$"),
    (r"Admission check\(s\): \S+, were rejected$", r"AdmissionChecks? in Rejected state: .*$"),
)
"""How Kueue 0.17 says something, and how later versions do."""


def compared(world: World, theirs: list[Seen], ours: list[Seen], meant: Counter[str]) -> list[str]:
    """The differences of the first step after which there is one that is not meant; what comes later follows from it."""
    around = _Around(world)
    for number, (there, here) in enumerate(zip(theirs, ours, strict=False)):
        found: list[Difference] = []
        around.step, around.child_lost = world.steps[number], _child_lost(world, number)
        around.there, around.here = there, here
        ended = _why_it_ends(world, world.steps[number], around.before, there, here)
        if not ended and _stays_deactivated(there, here):
            ended = "not reactivated"
        if around.child_lost and not ended and _has_more_room(there, here):
            ended = "deleted child"
        if ended:
            meant[ended] += 1
            return []
        for one in _differences(there, here, ()):
            name = around.still(one) or around.name(one) or around.evicted_apart(one)
            if name:
                meant[name] += 1
                around.named[str(one)] = name
            else:
                found.append(one)
        if found:
            return [f"world {world.seed} step {number}: {world.steps[number]}", *(f"    {one}" for one in found)]
        around.go_on(there, here)
    return []


class _Around:
    """What was seen before a step, and after it `there` and `here`, by which a difference is told to be meant."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.step = world.steps[0]
        self.child_lost = False
        """Whether a Cohort that had a parent was deleted."""
        self.there: Seen = {"workloads": {}}
        self.here: Seen = {"workloads": {}}
        self.ours: Seen = {"workloads": {}}
        self._theirs: Seen = {"workloads": {}}
        self.named: dict[str, str] = {}
        """By difference that was seen before, its name."""
        self._apart: dict[str, str] = {}
        """By workload that was preempted more often on one side, the name of that."""
        self._said: dict[str, list[Any]] = {}
        """By workload, how its reservation stood under Kueue after each step."""

    def go_on(self, there: Seen, here: Seen) -> None:
        self.ours, self._theirs = here, there
        for name, one in there["workloads"].items():
            self._said.setdefault(name, []).append(one["conditions"].get("QuotaReserved"))

    @property
    def before(self) -> tuple[Seen, Seen]:
        """What was seen before the step under Kueue, and here."""
        return self._theirs, self.ours

    def still(self, one: Difference) -> str:
        """The name of a difference that comes of what happened once, if nothing has changed since on either side."""
        ours: Any = self.ours
        for key in one.path:
            ours = ours.get(key) if isinstance(ours, dict) else None
        name = self.named.get(str(one), "")
        return name if name in _HAPPENED and (one.there, one.here) == (self._before(one.path), ours) else ""

    def evicted_apart(self, one: Difference) -> str:
        """Why somebody was preempted once more on one side for who was told to try again, in this step or in one before it."""
        if one.path[0] != "workloads" or one.path[2:] != ("evictions",):
            return ""
        name = one.path[1]
        theirs, ours = (
            _evicted(one) - _evicted((before["workloads"].get(name) or {}).get("evictions"))
            for one, before in ((one.there, self._theirs), (one.here, self.ours))
        )
        if theirs == ours:
            return self._apart.get(name, "")
        if self.step.verb != "check" or self.step.value["state"] != "Retry":
            return ""
        once = Counter({("Preempted", ""): 1})
        more, fewer = theirs - ours, ours - theirs
        if more == once and not fewer:
            self._apart[name] = "room in between"
        elif fewer == once and not more:
            # Kueue may find that it is back before it tries those that were refused: here they have had its room until then.
            self._apart[name] = "gathered for a second"
        else:
            return ""
        return self._apart[name]

    def name(self, one: Difference) -> str:
        """The name of a difference that is meant."""
        return self._of_workload(one) if one.path[0] == "workloads" else self._of_queue(one)

    def _of_workload(self, one: Difference) -> str:
        if one.path[2:3] == ("conditions",) and _worded_later(one):
            return "later message"
        if self._wavers(one):
            return "says one and the other"
        match one.path:
            case ("workloads", name, "conditions", "QuotaReserved"):
                return self._of_queue_that_is_closed(name, one) or self._of_reservation(name, one)
            case ("workloads", name, "conditions", "DeactivationTarget") if _is_left_target(one) and not any(
                side["workloads"][name]["active"] for side in (self.there, self.here)
            ):
                return "target left"
            case ("workloads", name, "checks", _) if self._for_some_flavors(name) and (
                one.there is None or one.here == ["Pending", "", 0] or _only_kept(one)
            ):
                return "later checks"
            case ("workloads", name, "requests", _, "pods") if one.there is None and self._has_no_attempt(name):
                return "pods of none tried"
            case ("workloads", name, "requests", _):
                return self._of_silence(name, one)
            case _:
                return ""

    def _of_queue(self, one: Difference) -> str:
        match one.path:
            case ("doors", _, "pendingWorkloads") if (one.there or 0) == (one.here or 0) - 1:
                return "head in flight"
            case ("queues", _, "conditions", "Active") if _names_the_same(one.there, one.here):
                return "order of checks"
            case ("queues", _, "share") if one.there == self._before(one.path):
                return "not told anew"
            case ("queues", name, "pendingWorkloads") if self._lost_a_door(name) and one.there == self._before(
                one.path
            ):
                return "not told anew"
            case _:
                return ""

    def _wavers(self, one: Difference) -> bool:
        """Whether it is about why a workload waits of which Kueue says something else all the time."""
        found = self.there["workloads"].get(one.path[1]) or {}
        about_words = one.path[2:] == ("conditions", "QuotaReserved") and _waits(one.there) and _waits(one.here)
        return bool(found.get("wavers")) and (about_words or one.path[2:3] in (("requests",), ("wavers",)))

    def _of_queue_that_is_closed(self, name: str, one: Difference) -> str:
        if one.there and one.here and one.here[1] == "AdmissionGated" and _is_closed(one.there):
            return "gated or inactive"
        nameless = one.there and one.there[2] == "ClusterQueue  doesn't exist" and self._door_opened(name)
        return "no name" if nameless else ""

    def _of_silence(self, name: str, one: Difference) -> str:
        """Why one side alone has said something of it."""
        if one.here is None and self._had_a_turn_by_its_class(name):
            return "class by turns"
        if one.there is not None:
            return ""
        if self._is_led_without_a_place(name):
            return "led without a place"
        return "silent class" if self._is_of_silent_class(name) else ""

    def _of_reservation(self, name: str, one: Difference) -> str:
        known = name in self.ours["workloads"]
        if silent := self._of_silence(name, one):
            return silent
        if known and one.there == self._before(one.path) and (_is_news(one.here) or self._cohort_deleted(one)):
            return "not told anew"
        if one.there and one.there[2] == _NO_LONGER_FITS and _waits(one.here) and one.here == self._before(one.path):
            return "overtaken"
        if not (_waits(one.there) and _waits(one.here)):
            return ""
        if known and _lacks_room(one.there) and _lacks_room(one.here) and self._a_head_got_in(name):
            return "gathered for a second"
        if known and (one.here in self._said[name] or (_lacks_for_now(one.there) and _lacks_for_now(one.here))):
            return "kept message"
        if self.child_lost and _but_for_capacity(one.there) == _but_for_capacity(one.here):
            return "deleted child"
        if one.there and one.here:
            sides = [
                re.sub(r"\S+ more needed", "more needed", side[2]) if known else side[2]
                for side in (one.there, one.here)
            ]
            return "order of resources" if _are_one_order(sides[0], sides[1]) else ""
        return ""

    def _a_head_got_in(self, name: str) -> bool:
        """Whether a head of a StrictFIFO queue got room in this step on both sides that one of another queue was refused.

        Kueue tries the head at once, and the other one a second later, when less room is left.
        """
        if _strategy(self._world, self.ours["workloads"][name]["door"]) == "StrictFIFO":
            return False
        return any(
            not _holds(one)
            and _strategy(self._world, one["door"]) == "StrictFIFO"
            and all(_lies_somewhere(side["workloads"].get(head) or one) for side in (self.there, self.here))
            for head, one in self.ours["workloads"].items()
        )

    def _before(self, path: tuple[str, ...]) -> Any:
        """What Kueue said before."""
        found: Any = self._theirs
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def _is_of_silent_class(self, name: str) -> bool:
        """Whether Kueue never said why it waits, as it has said to another one of its queue and priority; here both are told the same."""
        mine = self.there["workloads"].get(name)
        if mine is None or "QuotaReserved" in mine["conditions"]:
            return False
        told = self.here["workloads"][name]["conditions"].get("QuotaReserved")
        return any(
            one["priority"] == mine["priority"]
            and self._world.queue_of(one["door"]) == self._world.queue_of(mine["door"])
            and one["conditions"].get("QuotaReserved") == told
            and "QuotaReserved" in self.there["workloads"].get(key, mine)["conditions"]
            for key, one in self.here["workloads"].items()
            if key != name
        )

    def _is_led_without_a_place(self, name: str) -> bool:
        """Whether it is one of a leader and workers that finds no place here, and Kueue has never said anything of it."""
        mine = self.there["workloads"].get(name)
        if mine is None or "QuotaReserved" in mine["conditions"]:
            return False
        made = (one.value["spec"]["podSets"] for one in self._world.steps if one.verb == "create" and one.name == name)
        led = any("podSetGroupName" in one.get("topologyRequest", {}) for pod_sets in made for one in pod_sets)
        return led and _lacks_room(self.here["workloads"][name]["conditions"].get("QuotaReserved"))

    def _had_a_turn_by_its_class(self, name: str) -> bool:
        """Whether Kueue alone has tried it, in a StrictFIFO queue in which another one of its new priority waits, when that of a class has changed."""
        mine = self.here["workloads"][name]
        known = self._theirs["workloads"].get(name)
        if self.step.kind != "WorkloadPriorityClass" or known is None or known["priority"] == mine["priority"]:
            return False
        return _strategy(self._world, mine["door"]) == "StrictFIFO" and any(
            self._world.queue_of(one["door"]) == self._world.queue_of(mine["door"])
            and one["priority"] == mine["priority"]
            and not _holds(one)
            for key, one in self.here["workloads"].items()
            if key != name
        )

    def _door_opened(self, name: str) -> bool:
        """Whether the local queue of a workload came in this step, or takes in again."""
        step, door = self.step, self.there["workloads"][name]["door"]
        opened = step.verb == "create" or step.value.get("spec", {}).get("stopPolicy") == "None"
        return step.kind == "LocalQueue" and step.name == door and opened

    def _lost_a_door(self, queue: str) -> bool:
        """Whether a local queue of a queue is not there, or was stopped in this step."""
        step = self.step
        stopped = step.kind == "LocalQueue" and step.value.get("spec", {}).get("stopPolicy", "None") != "None"
        if stopped and self._world.queue_of(step.name) == queue:
            return True
        return not any(self._world.queue_of(door) == queue for door in self.here["doors"])

    def _cohort_deleted(self, one: Difference) -> bool:
        """Whether less room is told of here since a Cohort was deleted, after which Kueue looks at nobody."""
        gone = self.step.verb == "delete" and self.step.kind == "Cohort"
        return gone and _waits(one.there) and _waits(one.here)

    def _has_no_attempt(self, name: str) -> bool:
        """Whether it was refused before a flavor was looked at."""
        condition = self.here["workloads"][name]["conditions"].get("QuotaReserved")
        return condition is not None and not condition[2].startswith(_ATTEMPT)

    def _for_some_flavors(self, name: str) -> bool:
        """Whether its queue has checks for some flavors, at one time or another."""
        found = self.here["workloads"].get(name)
        queue = self._world.queue_of(found["door"]) if found else ""
        specs = [
            *(one["spec"] for one in self._world.objects if one["metadata"]["name"] == queue),
            *(step.value.get("spec", {}) for step in self._world.steps if step.name == queue),
        ]
        strategies = [one.get("admissionChecksStrategy") or {} for one in specs]
        return any(rule.get("onFlavors") for one in strategies for rule in one.get("admissionChecks", ()))


def _differences(there: Any, here: Any, path: tuple[str, ...]) -> Iterator[Difference]:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            yield from _differences(there.get(key), here.get(key), (*path, key))
    elif there != here:
        yield Difference(path, there, here)


def _evicted(evictions: list[Any] | None) -> Counter[tuple[str, str]]:
    return Counter({(reason, cause): count for reason, cause, count in evictions or ()})


def _worded_later(one: Difference) -> bool:
    if not (one.there and one.here and one.there[:2] == one.here[:2]):
        return False
    return any(
        re.search(later, one.here[2]) and re.sub(earlier, "", one.there[2]) == re.sub(later, "", one.here[2])
        for earlier, later in _LATER
    )


def _why_it_ends(world: World, step: Step, both_before: tuple[Seen, Seen], there: Seen, here: Seen) -> str:
    """The name of a difference after which the world goes on otherwise, and is compared no more."""
    earlier, before = both_before
    if _is_ghost(world, step, before, there, here):
        return "ghost head"
    known = before["workloads"]
    both = {
        name: (one, here["workloads"][name]) for name, one in there["workloads"].items() if name in here["workloads"]
    }
    only_there = {name for name, (one, other) in both.items() if _holds(one) and not _holds(other)}
    only_here = {name for name, (one, other) in both.items() if _holds(other) and not _holds(one)}
    if only_here and not only_there and all(_is_starved(world, name, earlier, there) for name in only_here):
        return "flavors in turn"
    if any(_goes_in_vain(name, known, both) for name in both):
        return "flavors in turn"
    if any(_holds(ours) != _holds(one) or _is_blocked(one) for one, ours in both.values()) and _is_blocked_by_checks(
        there
    ):
        return "blocked by checks"
    if _has_done_of_fewer(world, step, there, here):
        return "done of fewer"
    if any(_is_stuck(world, one, here["workloads"].get(name)) for name, one in there["workloads"].items()):
        return "stuck on a flavor"
    if only_there and all(any(_got_turn(other, name, known, both) for other in both) for name in only_there):
        return "gathered for a second"
    refused = all(name in known and not _holds(known[name]) for name in only_here)
    if not (only_there and only_here and refused):
        return ""
    if all(_left_in_between(name, known, both) for name in only_there):
        return "gathered for a second"
    yielded = all(any(_yields(world, name, other, before, here) for other in known) for name in only_here)
    waited = all(name in known and not _holds(known[name]) for name in only_there)
    return "refused head yields" if yielded and waited else ""


def _has_done_of_fewer(world: World, step: Step, there: Seen, here: Seen) -> bool:
    """Whether one more pod is done in this step of a workload that runs with fewer than it asked for, and only the use of queues differs."""
    if step.verb != "reclaim" or there["workloads"] != here["workloads"]:
        return False
    if {one.path[2] for one in _differences(there, here, ())} - _USE or there["queues"] == here["queues"]:
        return False
    made = (one.value["spec"]["podSets"] for one in world.steps if one.verb == "create" and one.name == step.name)
    asked = {one["name"]: one["count"] for pod_sets in made for one in pod_sets}
    holds = there["workloads"].get(step.name, {}).get("pods", {})
    return any(one["count"] < asked.get(name, 0) for name, one in holds.items())


def _is_stuck(world: World, there: Seen, here: Seen | None) -> bool:
    """Whether Kueue alone says that a workload no longer fits, which asks for several resources of a queue that would rather preempt."""
    told = there["conditions"].get("QuotaReserved")
    if not told or told[2] != _NO_LONGER_FITS or here is None or here["conditions"].get("QuotaReserved") == told:
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


def _child_lost(world: World, number: int) -> bool:
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
    only_there = [ours for one, ours in sides if _holds(one) and not _holds(ours)]
    told = [one["conditions"].get("QuotaReserved") for one in only_there]
    return (
        bool(told)
        and all(one and "insufficient" in one[2] for one in told)
        and not any(_holds(ours) and not _holds(one) for one, ours in sides)
    )


def _but_for_capacity(condition: list[str] | None) -> str:
    return re.sub(r"maximum capacity \(\S+\)", "maximum capacity", condition[2]) if condition else ""


def preempted_for_ever(theirs: list[Seen], ours: list[Seen]) -> bool:
    """Whether Kueue has preempted the same workloads again and again in the step in which kuelog does so, the last of `ours`."""
    last = len(ours) - 1
    again = _preempted_again(theirs, last)
    return bool(again) and again == _preempted_again(ours, last)


def _preempted_again(found: list[Seen], number: int) -> set[str]:
    """Who was preempted more than twice in a step."""
    sides = [found[one]["workloads"] if 0 <= one < len(found) else {} for one in (number - 1, number)]
    before, after = ({name: _preemptions(one) for name, one in side.items()} for side in sides)
    return {name for name, count in after.items() if count > before.get(name, 0) + 2}


def _preemptions(workload: Seen) -> int:
    return sum(count for reason, _, count in workload["evictions"] if reason == "Preempted")


def _left_in_between(name: str, known: Mapping[str, Seen], both: Mapping[str, tuple[Seen, Seen]]) -> bool:
    """Whether a workload was evicted in this step on both sides, or somebody was for it."""
    if name in known and all(_evictions(side) > _evictions(known[name]) for side in both[name]):
        return True
    return any(
        all(
            _evictions(side) > _evictions(known[other]) and f"uid of {name}," in side["conditions"]["Evicted"][2]
            for side in both[other]
        )
        for other in both.keys() & known.keys()
    )


def _is_blocked_by_checks(there: Seen) -> bool:
    """Whether somebody holds quota under Kueue whose checks are not ready, and somebody waits until all pods are."""
    found = there["workloads"].values()
    waits = any(_holds(one) and any(check[0] != "Ready" for check in one["checks"].values()) for one in found)
    return waits and any(map(_is_blocked, found))


def _is_blocked(workload: Seen) -> bool:
    return workload["conditions"].get("QuotaReserved", ["", ""])[1] == "Waiting"


def _goes_in_vain(name: str, known: Mapping[str, Seen], both: Mapping[str, tuple[Seen, Seen]]) -> bool:
    """Whether Kueue alone has preempted a workload again and again in this step, for one with several pod sets that waits on both sides."""
    before = _preemptions(known[name]) if name in known else 0
    there, here = (_preemptions(side) - before for side in both[name])
    return (
        there > 2  # noqa: PLR2004 - more often than for once and for what came of it
        and not here
        and any(
            f"uid of {other}," in both[name][0]["conditions"]["Preempted"][2]
            and not any(_holds(side) for side in sides)
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
        and not _holds(other)
        and len(other["requests"]) > 1
        for key, other in there["workloads"].items()
        if key != name
    )


def _is_ghost(world: World, step: Step, before: Seen, there: Seen, here: Seen) -> bool:
    """Whether the head of a StrictFIFO queue was deleted, or its local queue, and Kueue goes on trying it."""
    gone = {"door": step.name} if step.kind == "LocalQueue" else before["workloads"].get(step.name)
    if step.verb != "delete" or gone is None or _strategy(world, gone["door"]) != "StrictFIFO":
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
        or _strategy(world, mine["door"]) == "StrictFIFO"
    ):
        return False
    stands = [side["workloads"][other]["conditions"].get("QuotaReserved") for side in (before, here)]
    return its["priority"] >= mine["priority"] and not _holds(its) and stands[0] == stands[1]


def _got_turn(preemptor: str, name: str, known: Mapping[str, Seen], both: Mapping[str, tuple[Seen, Seen]]) -> bool:
    """Whether a workload left here alone, for one that had others leave on both sides and then found their room taken."""
    if preemptor not in both or name not in known or not all(_holds(side) for side in both[preemptor]):
        return False
    there, here = both[name]
    left = _evictions(here) > _evictions(known[name]) and _evictions(there) == _evictions(known[name])
    return (
        left and f"uid of {preemptor}," in here["conditions"]["Evicted"][2] and _left_in_between(preemptor, known, both)
    )


def _evictions(workload: Seen) -> int:
    return sum(count for _, _, count in workload["evictions"])


def _holds(workload: Seen) -> bool:
    return bool(workload["pods"]) and "Finished" not in workload["conditions"]


def _lies_somewhere(workload: Seen) -> bool:
    """Whether it holds domains of a topology."""
    return _holds(workload) and any(one.get("domains") for one in workload["pods"].values())


def _waits(condition: list[str] | None) -> bool:
    return condition is None or (condition[0] == "False" and condition[2].startswith((_ATTEMPT, "Preempted to ")))


def _lacks_for_now(condition: list[str] | None) -> bool:
    """Whether it was refused for want of quota that others have, and for nothing else: how much there is of it changes all the time."""
    if condition is None:
        return False
    left = re.sub(r"insufficient unused quota for \S+ in flavor \S+, \S+ more needed(, )?", "", condition[2])
    return not re.sub(rf"(; )?{_ATTEMPT}\S+: ", "", left)


def _lacks_room(condition: list[str] | None) -> bool:
    """Whether it was refused because its pods found no place in the topology."""
    return condition is not None and bool(
        re.fullmatch(rf'{_ATTEMPT}\S+: topology "\S+" (doesn\'t allow|allows) .*', condition[2])
    )


def _only_kept(check: Difference) -> bool:
    """Whether a check was required anew under Kueue, and all the time here."""
    told = check.here and check.here[0] == "Pending" and check.here[1].startswith("Reset to Pending after eviction")
    return check.there == ["Pending", "", 0] and bool(told)


def _is_left_target(one: Difference) -> bool:
    """Whether a target of who has run too long is shown by Kueue alone."""
    return one.here is None and one.there[:2] == ["True", "MaximumExecutionTimeExceeded"]


def _is_closed(condition: list[str]) -> bool:
    return condition[1] == "Inadmissible" and bool(re.fullmatch(r"(Local|Cluster)Queue \S+ is inactive", condition[2]))


def _is_news(condition: list[str] | None) -> bool:
    return condition is not None and condition[2].endswith(("is inactive", "doesn't match ClusterQueue selector"))


def _names_the_same(there: list[str] | None, here: list[str] | None) -> bool:
    """Whether both conditions are of the same words in another order."""
    if not (there and here):
        return False
    sides = [[*one[:2], *sorted(re.split(r"[ ,.]+", one[2]))] for one in (there, here)]
    return sides[0] == sides[1]


def _are_one_order(there: str, here: str) -> bool:
    """Whether both stop at different resources of one pod set, and say the same of those that both name."""
    if _nodes_that_lack(there) == _nodes_that_lack(here):
        return True
    sides = [_clauses(one) for one in (there, here)]
    common = sides[0].keys() & sides[1].keys()
    return sides[0].keys() != sides[1].keys() and all(sides[0][one] == sides[1][one] for one in common)


def _clauses(message: str) -> dict[tuple[str, str, str], str]:
    """What an attempt says, by pod set, resource and flavor."""
    found: dict[tuple[str, str, str], str] = {}
    for part in re.split(rf"(?:^|; ){_ATTEMPT}", message):
        pod_set, _, told = part.partition(": ")
        for one in re.finditer(
            r"insufficient (?:unused )?quota for (\S+) in flavor (\S+), (?:(?:\S+ )?more needed|[^,]* > maximum capacity \(\S+\))",
            told,
        ):
            found[pod_set, one[1], one[2]] = one[0]
        for one in re.finditer(
            r"""Flavor "(\S+)" \D*TopologyAwareScheduling|in flavor ([^\s,]+)(?=$|,(?! \S+ more| prev))|flavor (\S+) doesn't match""",
            told,
        ):
            found[pod_set, "", one[1] or one[2] or one[3]] = one[0]
        for one in re.finditer(r"resource (\S+) unavailable in ClusterQueue", told):
            found[pod_set, one[1], ""] = one[0]
    return found


def _nodes_that_lack(message: str) -> str:
    """The message with the number of nodes that hold no pod for want of a resource: which of several they lack is chance."""

    def total(found: re.Match[str]) -> str:
        return f"resources: {sum(map(int, re.findall(r': ([0-9]+)', found[0])))}"

    return re.sub(r'resource "\S+": \d+(, resource "\S+": \d+)*', total, message)


def _strategy(world: World, door: str) -> str:
    name = world.queue_of(door)
    queues = {one["metadata"]["name"]: one["spec"] for one in world.objects if one["kind"] == "ClusterQueue"}
    return queues.get(name, {}).get("queueingStrategy", "BestEffortFIFO")
