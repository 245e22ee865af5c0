"""Where Kueue and kuelog came to different ends, and which of these differences are meant.

A difference that is meant has its name and its reason here, and is told apart as narrowly as it can be.
"""

import re
from collections import Counter
from typing import Any

from tests.peers.worlds.asked_apart import AskedApart
from tests.peers.worlds.claims_apart import ClaimsApart
from tests.peers.worlds.clusters_apart import ClustersApart
from tests.peers.worlds.difference import Difference, differences
from tests.peers.worlds.drawn import World
from tests.peers.worlds.elastic_apart import ElasticApart
from tests.peers.worlds.end_of_comparison import child_lost, why_it_ends
from tests.peers.worlds.events_apart import name_of_event
from tests.peers.worlds.jobs_apart import JobsApart
from tests.peers.worlds.metrics_apart import name_of_metric
from tests.peers.worlds.positions_apart import name_of_position
from tests.peers.worlds.seen import Seen
from tests.peers.worlds.serving_apart import ServingApart
from tests.peers.worlds.standing import (
    ATTEMPT,
    NO_LONGER_FITS,
    had_a_turn_by_its_class,
    holds,
    is_closed,
    is_led,
    is_news,
    lacks_for_now,
    lacks_room,
    lies_somewhere,
    preemptions,
    stays_deactivated,
    strategy,
    waits,
)
from tests.peers.worlds.words_alike import (
    are_of_one_group,
    are_one_order,
    but_for_capacity,
    counts_below_nothing,
    is_left_target,
    name_one_of_several,
    names_the_same,
    only_kept,
    worded_later,
)

MEANT = {
    "kept message": "who waits is not tried again while nothing has changed that could let it in: docs/rules/queues.md#retry",
    "head in flight": "Kueue does not count who is tried at the moment among those that wait at a local queue, and counts anew only when something changes",
    "says one and the other": "Kueue tries a head in another order of resources, or on other flavors, again and again, and says something else each time",
    "pods of none tried": "Kueue shows what pods are charged only once a flavor was looked at for them",
    "ghost head": "Kueue 0.17 puts the head of a StrictFIFO queue that is deleted while it is tried back into line, and tries nobody behind it any more",
    "preempted for ever": "two that preempt each other do so for ever, under Kueue until chance ends it: docs/rules/preemption.md#loops",
    "not told anew": "Kueue says anew how a share stands, how many wait when their local queue is gone, stopped or goes on, that a queue is inactive, or that a namespace does not match, only when it happens to look again",
    "later checks": "later versions of Kueue, whose rules kuelog has, require checks for all flavors of who waits beside others for some, and drop these",
    "order of checks": "Kueue names the checks that are missing in any order",
    "order of resources": "Kueue looks at the resources of a pod set in any order, and at no other one after one of which there never is enough",
    "blocked by checks": "under blockAdmission Kueue 0.17 lets nobody in while somebody waits for its checks, whose pods can't be ready: docs/rules/cycle.md#block-admission",
    "class by turns": "Kueue gives workloads of a class that changes their new priority one after the other, and may try one as the head of a StrictFIFO queue that is none when all have it",
    "led without a place": "Kueue 0.17 takes a leader and its workers for placed where it has found no place for one of them, and is refused by its API server for ever: docs/rules/topology.md#slice-placement",
    "silent class": "Kueue says nothing to who comes after one like it was refused, 0.17 for its namespace as well",
    "stuck on a flavor": "Kueue 0.17 takes a flavor for one that fits by the resource that borrows highest, and tries it for ever: docs/rules/flavors.md#modes",
    "done of fewer": "Kueue counts pods that are done off those that were asked for, where fewer were let in: docs/rules/quota.md#charged-usage",
    "gated or inactive": "Kueue says of who is gated in a queue that takes nothing in, in turns for ever, that it is gated and that the queue is inactive",
    "no name": "Kueue may look at a workload when it has seen its local queue and does not hold it in its queues yet, which then have no name of a ClusterQueue for it",
    "not reactivated": "Kueue 0.17 leaves who was deactivated by its own rules waiting for ever when it is set active again",
    "overtaken": "Kueue compares why it refuses somebody with what it has heard itself say, which may be older than what it has said since",
    "deleted child": "Kueue 0.17 goes on counting what a Cohort gave to its parent after it was deleted",
    "target left": "Kueue sets the target of who has run too long once more when it is inactive already, before its quota is back",
    "pod keeps its place": "later versions of Kueue, whose rules kuelog has, leave a pod by itself where it is when its node fails: nobody would make it anew",
    "later message": "later versions of Kueue, whose rules kuelog has, word it so",
    "gathered for a second": "Kueue moves who was refused back into line a second later than who was evicted, or waits for its victims, or heads a StrictFIFO queue: that one gets the room in the meantime",
    "flavors in turn": "Kueue goes on for ever with pod sets that have different flavors left, and tries nobody behind them, or preempts somebody again and again for them: docs/rules/flavors.md#scan-progress",
    "room in between": "who is evicted by a check and may come back at once leaves its room for a moment to who was preempted for it",
    "made anew": "Kueue makes the Workload of a job anew that asks for other pods while it runs; here it is evicted, and let in again: docs/rules/eviction.md#other-pods",
    "class gone": "Kueue takes no notice of what changes of a job whose WorkloadPriorityClass is gone",
    "same containers": "Kueue takes a Workload for that of its job by containers, tolerations and counts alone, and does not show what else has changed since",
    "pods that go": "Kueue may try a group whose pods are deleted once more before it sees that they are",
    "let in without pods": "Kueue lets a group in again whose pods are gone, which holds quota until they are late; here it waits for other pods: docs/rules/queues.md#obstacles",
    "asked with gates": "Kueue asks an autoscaler for pods with the gates that they wait at, kuelog for pods that may start",
    "tried without pods": "Kueue tries a group that lacks pods once its queue goes on; here it waits for other pods: docs/rules/queues.md#obstacles",
    "template of pods": "Kueue keeps labels and annotations of plain pods out of the templates of their Workload",
    "one of several": "of pod sets that find no place together in a topology Kueue names any",
    "order of pods": "Kueue gives pods of a group that have no ranks their places in any order",
    "restored again": "Kueue puts the template of a job that is evicted, or was begun by hand, back to what it was at first, also when somebody has changed it since",
    "lost in between": "Kueue 0.17 may keep the quota of a job of whose Workload it makes another one, and never tries that",
    "moved after eviction": "Kueue leaves a job that was evicted in its queue, whatever queue it names, until it is let in again",
    "order of flavors": "Kueue takes the selectors of the flavors of a pod set in any order, and where two have the same label keeps the first",
    "implied submitter": "Kueue does not say where the submitter of a RayJob runs that says nothing of its pod, here it has the flavors that were chosen for it: docs/jobs.md",
    "left request": "Kueue leaves what it has asked of an autoscaler for who has lost its quota or has ended: docs/checks.md",
    "said before": "Kueue goes on saying of a check what it said of an earlier attempt, until an autoscaler says something of this one",
    "count of retries": "Kueue 0.17 counts anew how often a check was tried again once it was Ready or Rejected, but goes on with the numbers of its requests",
    "request of who runs": "Kueue takes away what was asked for who runs once its configuration is another one or is gone, here it stays: docs/checks.md",
    "asks while it runs": "Kueue sets a check of who runs back once its configuration is gone, and asks for nodes anew when it is back; here who runs is left alone: docs/checks.md",
    "quota twice": "Kueue 0.17 counts the quota of who waits for its place a second time when it looks for one, and finds none where there is not twice as much: docs/rules/topology.md#second-pass",
    "nodes of before": "Kueue takes nodes that were there for who has been evicted since for its next admission, if that comes at once: docs/checks.md",
    "domains of another tree": "Kueue tries nobody again for domains that a workload of another cohort leaves: docs/rules/topology.md#retries",
    "less than nothing": "Kueue 0.17 counts a domain whose nodes have become too small for what lies there as less than nothing; later versions, whose rules kuelog has, as nothing",
    "kept of no job": "Kueue 0.17 keeps a Workload of no job that its rules have deactivated: docs/rules/eviction.md#orphans",
    "updates of merged": "Kueue has only the first of pod sets that are taken for one get the annotations of their request: docs/checks.md",
    "completed when let through": "pods of a StatefulSet or LeaderWorkerSet bear the names of their group when they are let through: docs/jobs.md#what-serves",
    "on hold at zero": "the Workload of a StatefulSet that is scaled to nothing is on hold, Kueue 0.17 deletes it: docs/jobs.md#what-serves",
    "holds its Workload": "the Workload of what serves bears the finalizer that Workloads of jobs have",
    "owners of groups": "here the Workload of what serves is that object's alone; under Kueue its pods own it as well",
    "gate at once": "the gate of an elastic job is put into its template when it is started, by Kueue when it is made: docs/rules/elastic.md#pods",
    "gate of its cluster": "Kueue 0.17 puts the gate of an elastic RayJob into its RayCluster alone; here it is in both: docs/rules/elastic.md#pods",
    "sizes of clusters": "Kueue writes into elastic jobs of Ray's how large their RayClusters are, by which it names slices; here the log has it: docs/rules/elastic.md#ray",
    "autoscaler beside the head": "later versions of Kueue, whose rules kuelog has, count what KubeRay puts beside the head for Ray's autoscaler",
    "slice of all": "Kueue 0.17 writes the name of the slice on pods of all jobs once some may be elastic",
    "finalizers of slices": "Kueue 0.17 leaves its finalizer on Workloads of elastic jobs that are over, and takes it away with the job",
    "slice of what was injected": "Kueue makes the next slice of a job that runs of its template as it is, with what was injected into it; here it asks for what the job asked for: docs/rules/elastic.md#scale-up",
    "admission of before": "Kueue leaves the admission of a slice that has become smaller as it was, and counts what is left of it: docs/rules/elastic.md#scale-down",
    "class of slices": "Kueue 0.17 takes no notice of another class, gate or longest time of an elastic job: docs/rules/elastic.md#class",
    "conflict of slices": "Kueue 0.17 does not start a job again that has grown: what its template has of the slice before contradicts the slice that it is to run in",
    "slice left behind": "Kueue 0.17 ends the slice that waits of a job that ends, and leaves the one that ran its quota for ever: docs/rules/elastic.md#replacement",
    "stopped beside a slice": "Kueue leaves a job stopped that somebody stops while its next slice waits, and its quota held; here it is started again in the slice that it ran in",
    "begun by hand": "Kueue leaves an elastic job begun that somebody begins, with its pods at their gate, and lets them go without the flavors that were chosen for them; here it is suspended again",
    "silent slice": "Kueue takes a slice for one that was refused and asks for as many pods, though it asks for the difference alone: docs/rules/elastic.md#difference",
    "tried as before": "Kueue 0.17 goes on trying who gets another size while it is tried in the size that it had then, and may let it in so",
    "moves with its quota": "who names another queue while its checks are pending is counted for the one that it had, under Kueue",
    "victims one by one": "Kueue tries who preempts several again when some of them are gone, and may find that it needs no more",
    "order of leaders": "Kueue names either of a leader and its workers, which lie together, where there is no place for them",
    "no places beside slices": "with the gate ElasticJobsViaWorkloadSlicesWithTAS Kueue 0.17 looks for no place for pods that require or prefer a domain, of whatever workload",
    "requeue of claims": "Kueue shows of who claims what can't be counted that it is not requeued either: docs/rules/claims.md#refused",
    "name of a template": "Kueue's client names a template that is not there by its kind, an API server by its resource",
    "silent to who claims": "Kueue says nothing of a queue that is not there or takes nothing in, and does not evict who is set inactive, where devices are claimed",
    "claims before gates": "Kueue says of who is gated and claims what can't be counted the one, here it is the other",
    "claims looked at again": "Kueue looks at a claim again after a while, or never when its template has changed: docs/rules/claims.md#counted-again",
    "claims in domains": "Kueue 0.17 looks for the devices that pods claim on the nodes on which they are placed, where there are none, and never lets them in: docs/rules/claims.md#in-domains",
    "those that stay twice": "Kueue 0.17 counts pods of a job that grows twice, where they were and where they stay: docs/rules/topology.md#elastic",
    "moves while it waits": "Kueue 0.17 refuses another queue for a LeaderWorkerSet, here it may have one while none of its pods is ready: docs/jobs.md#what-serves",
    "pods refused": "Kueue queues a LeaderWorkerSet none of whose pods the API server takes in; here pods wait, and there are none: docs/jobs.md#what-serves",
    "cohorts that change": "Kueue 0.17 goes on telling of a cohort whose queues have left it, and takes more of one than a deleted Cohort had lent to it",
    "stopped is not there": "Kueue's visibility API says that a local queue is not there while it is stopped; here nobody waits at it: docs/kubectl.md",
    "counted anew": "Kueue forgets what it has counted of a local queue that is stopped or deleted, and of a Cohort that is deleted: docs/metrics.md#differences",
    "levels of who takes in": "Kueue reckons how far up the tree a request reaches over queues alone that take something in: docs/rules/quota.md#borrowing-level",
    "slices that are replaced": "Kueue 0.17 counts a slice that another one replaces as finished, and not as replaced; here it is the other way round: docs/metrics.md#differences",
    "tried for ever": "Kueue goes on trying the head of a queue that it refuses in turns, which counts as active; here it is parked",
    "ready without waiting": "kuelog knows when the pods of a job are ready also where nobody waits for them",
    "ready of no job": "Kueue takes the time until pods are ready of jobs alone, here it is taken of Workloads of no job as well: docs/metrics.md#differences",
    "any pod of its group": "Kueue says on any pod of a group what it says of the group, kuelog on the oldest",
    "names the field": "Kueue says why a group of pods makes no workload, kuelog also which field says so and what to write instead",
    "class not found": "a job that names a WorkloadPriorityClass that is not there is told so under the reason that later versions of Kueue have for it",
    "tried in between": "Kueue may refuse somebody in passing, as between the two steps in which it evicts others, and says so in an Event",
    "said in an Event": "an Event says as well that a queue that a workload waits for takes nothing in",
    "job of the manager": "Kueue leaves the UID of the job of the manager on a copy until its job there takes it; here it has none until then: docs/rules/multikueue.md#copies",
    "copy kept": "Kueue may find that who was evicted in a worker holds quota again before it has seen that it had none, and then leaves the copy, and the stopped job, that it else removes and makes anew: docs/rules/multikueue.md#dispatch",
    "left until collected": "Kueue leaves what it has sent to a cluster that left the configuration until it collects what nobody wants, once a minute; here it goes at once: docs/rules/multikueue.md#settings",
    "left the configuration": "what runs in a cluster that leaves the configuration runs on, and is shown; Kueue takes it for lost: docs/rules/multikueue.md#dispatch",
    "rejected without quota": "Kueue rejects the check of who may not run elsewhere before it holds quota as well, and again when it was evicted: docs/rules/multikueue.md#kinds",
    "cluster deleted": "Kueue waits for a cluster whose object is deleted as for one that is lost, here who ran there is tried anew at once: docs/rules/multikueue.md#dispatch",
    "class of a job elsewhere": "Kueue 0.17 leaves a job in a worker the class that it had: docs/rules/multikueue.md#outdated",
    "order of copies": "copies that were made in the same second stand in the line of a worker in any order",
    "first back in line": "of those that lose their quota in one step Kueue lets in again who is back in line first",
    "either cluster": "of two clusters that admit a copy in the same second Kueue takes either",
    "without a copy": "Kueue 0.17 waits for who has lost its copy as long as for a cluster that is lost; later versions, whose rules kuelog has, try it anew at once: docs/rules/multikueue.md#dispatch",
    "never named": "Kueue 0.17 may clear where it tries who was evicted after it has sent it there again, and its webhook then refuses the cluster that admits it, for ever",
    "class while it holds quota": "Kueue 0.17 goes on for ever giving a class to a Workload that holds quota, which its webhook refuses, and does nothing else for that job",
    "shown as connected": "Kueue may show a cluster as connected for ever that it could not reach: it does not try again what it has tried once when it could not write that down",
    "left behind": "Kueue leaves who waits in a cluster that leaves the configuration there, where it may be let in and hold quota; here it goes",
    "not named yet": "Kueue does not try who waits in a cluster that is connected again until something else about it changes",
    "moves while it is tried": "who names another queue while it is tried elsewhere is tried in that one, under Kueue in the one of before: docs/rules/multikueue.md#outdated",
    "nominated before": "Kueue leaves a cluster named for who waits that is not there any more until something about that changes",
    "nominated in between": "Kueue may nominate clusters once more for who is evicted, and leaves them named when its quota is gone",
    "shown while suspended": "Kueue shows nothing of a job elsewhere while the one here is suspended; here it is shown when both are: docs/rules/multikueue.md#status",
    "stays suspended": "a job that runs elsewhere and is suspended here by hand runs on; here it says so once something about the job there changes: docs/rules/eviction.md#by-hand",
    "heard of later": "Kueue shows how a job stands elsewhere when it hears of it next, if the one here was suspended still when it last did",
    "finalizer of copies": "the Workload that a job names bears the finalizer that Workloads of jobs have: docs/rules/objects.md#prebuilt",
    "refused head yields": "a head that is refused as before leaves its turn to the next of its queue: docs/rules/cycle.md#heads",
}
"""By name, why what is different is meant, or is chance on Kueue's side."""
_OF_EVICTED = frozenset({"Admitted", "Evicted", "Preempted", "Requeued"})
"""Conditions of who was preempted, and waits."""
_OF_WAITING = frozenset({"Normal AdmissionGated", "Warning Pending"})
"""Events that say of somebody why he waits, as his condition does."""
_HAPPENED = frozenset(
    {
        "class by turns",
        "gathered for a second",
        "kept of no job",
        "no name",
        "room in between",
        "said in an Event",
        "silent class",
        "not told anew",
        "tried in between",
    }
)
"""Names of differences that one step makes, and that nothing of the steps behind it shows."""


def compared(world: World, theirs: list[Seen], ours: list[Seen], meant: Counter[str]) -> list[str]:
    """The differences of the first step after which there is one that is not meant; what comes later follows from it."""
    number, found = compared_until(world, theirs, ours, meant)
    return [f"world {world.seed} step {number}: {world.steps[number]}", *found] if found else []


def compared_until(world: World, theirs: list[Seen], ours: list[Seen], meant: Counter[str]) -> tuple[int, list[str]]:
    """The last step after which both are compared, and the differences after it that are not meant."""
    around = _Around(world)
    for number, (there, here) in enumerate(zip(theirs, ours, strict=False)):
        found: list[Difference] = []
        around.step, around.child_lost = world.steps[number], child_lost(world, number)
        around.there, around.here = there, here
        ended = why_it_ends(world, number, around.before, there, here)
        if ended:
            meant[ended] += 1
            return number, []
        for one in differences(there, here, ()):
            name = around.still(one) or around.name(one) or around.evicted_apart(one)
            if name:
                meant[name] += 1
                around.named[str(one)] = name
            else:
                found.append(one)
        if found:
            return number, [f"    {one}" for one in found]
        around.go_on(there, here)
    return len(theirs) - 1, []


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
        self._jobs, self._asked, self._serving = JobsApart(world), AskedApart(world), ServingApart(world)
        self._elastic, self._claims, self._clusters = ElasticApart(), ClaimsApart(world), ClustersApart()
        self._said: dict[str, list[Any]] = {}
        """By workload, how its reservation stood under Kueue after each step."""
        self._tried: dict[str, list[Any]] = {}
        """By workload, what Kueue has shown that it was tried with."""
        self._said_of_checks: set[str] = set()
        """What Kueue has said of checks before."""

    def go_on(self, there: Seen, here: Seen) -> None:
        self.ours, self._theirs = here, there
        for name, one in there["workloads"].items():
            self._said.setdefault(name, []).append(one["conditions"].get("QuotaReserved"))
            self._tried.setdefault(name, []).append(one["requests"])
            self._said_of_checks |= {message for _, message, _ in one["checks"].values()}

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
        match one.path:
            case ("workloads", name, "evictions"):
                pass
            case ("workloads", name, "conditions", kind) if kind in _OF_EVICTED and None in (one.there, one.here):
                pass
            case _:
                return ""
        theirs, ours = (
            _evicted(now, name) - _evicted(before, name)
            for now, before in ((self.there, self._theirs), (self.here, self.ours))
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
        apart = (
            self._serving.name(one, self.there, self.here)
            or self._elastic.name(one, self.there, self.here)
            or self._jobs.name(one, self.there, self.here)
            or self._asked.name(one, self.there, self.here, self._said_of_checks)
            or self._claims.name(one, self._theirs)
            or name_of_metric(self._world, one, self._before(one.path), self.there, self.here)
            or name_of_event(one, self.there, self.here)
            or self._of_event_alone(one)
            or name_of_position(one, self.here)
            or self._clusters.name(one, self.there, self.here, self._theirs)
        )
        if (
            apart
            or one.path[0] in ("jobs", "metrics", "events", "positions", "pods", "asked", "standing")
            or one.path[2:3] == ("made",)
        ):
            return apart
        return self._of_workload(one) if one.path[0] == "workloads" else self._of_queue(one)

    def _of_workload(self, one: Difference) -> str:
        if one.path[2:3] == ("conditions",) and worded_later(one):
            return "later message"
        if self._wavers(one):
            return "says one and the other"
        match one.path:
            case ("workloads", _) if one.here is None and stays_deactivated(one.there):
                return "kept of no job"
            case ("workloads", name, "conditions", "QuotaReserved"):
                return self._of_queue_that_is_closed(name, one) or self._of_reservation(name, one)
            case ("workloads", name, "conditions", "DeactivationTarget") if is_left_target(one) and not any(
                side["workloads"][name]["active"] for side in (self.there, self.here)
            ):
                return "target left"
            case ("workloads", name, "checks", _) if self._for_some_flavors(name) and (
                one.there is None or one.here == ["Pending", "", 0] or only_kept(one)
            ):
                return "later checks"
            case ("workloads", name, "requests", _, "pods") if one.there is None and self._has_no_attempt(name):
                return "pods of none tried"
            case ("workloads", name, "requests", *_) if self._was_kept(one) and self._has_no_attempt(name):
                return "pods of none tried"
            case ("workloads", name, "requests", _, *deeper) if not deeper or self._was_kept(one):
                return self._of_silence(name, one)
            case _:
                return ""

    def _of_queue(self, one: Difference) -> str:
        match one.path:
            case ("doors", _, "pendingWorkloads") if (one.there or 0) == (one.here or 0) - 1:
                return "head in flight"
            case ("queues", _, "conditions", "Active") if names_the_same(one.there, one.here):
                return "order of checks"
            case ("queues", _, "share") if one.there == self._before(one.path):
                return "not told anew"
            case ("queues", name, "pendingWorkloads") if self._has_other_doors(name) and one.there == self._before(
                one.path
            ):
                return "not told anew"
            case _:
                return ""

    def _wavers(self, one: Difference) -> bool:
        """Whether it is about why a workload waits of which Kueue says something else all the time."""
        found = self.there["workloads"].get(one.path[1]) or {}
        about_words = one.path[2:] == ("conditions", "QuotaReserved") and waits(one.there) and waits(one.here)
        return bool(found.get("wavers")) and (about_words or one.path[2:3] in (("requests",), ("wavers",)))

    def _of_queue_that_is_closed(self, name: str, one: Difference) -> str:
        if one.there and one.here and one.here[1] == "AdmissionGated" and is_closed(one.there):
            return "gated or inactive"
        nameless = one.there and one.there[2] == "ClusterQueue  doesn't exist" and self._door_opened(name)
        return "no name" if nameless else ""

    def _of_silence(self, name: str, one: Difference) -> str:
        """Why one side alone has said something of it."""
        if one.here is None and had_a_turn_by_its_class(self._world, self.step, name, self._theirs, self.here):
            return "class by turns"
        kept = self._was_kept(one) and self._world.resizes(name)
        if one.there is not None and not kept:
            return ""
        if self._is_led_without_a_place(name):
            return "led without a place"
        if kept and self._is_tried_as_before(name):
            return "tried as before"
        if self._is_behind_flavors_in_turn(name):
            return "flavors in turn"
        again = kept and self.here["workloads"][name]["requests"] in self._tried.get(name, ())
        return "silent class" if again or self._is_of_silent_class(name) else ""

    def _of_event_alone(self, one: Difference) -> str:
        """The name of an Event that kuelog alone has recorded of somebody who waits: that of how his condition differs."""
        about, _, said = one.path[-1].partition(": ")
        name = about.removeprefix("Workload ")
        both = [side["workloads"].get(name, {"conditions": {}}) for side in (self.there, self.here)]
        there, here = (side["conditions"].get("QuotaReserved") for side in both)
        if one.path[0] != "events" or said not in _OF_WAITING or one.there is not None or here is None or there == here:
            return ""
        condition = Difference(("workloads", name, "conditions", "QuotaReserved"), there, here)
        return self._claims.name(condition, self._theirs) or self._of_silence(name, condition)

    def _is_behind_flavors_in_turn(self, name: str) -> bool:
        """Whether Kueue never came to try it, since it goes on trying another one of its queue with several pod sets."""
        mine = self.there["workloads"].get(name)
        return (
            mine is not None
            and "QuotaReserved" not in mine["conditions"]
            and any(
                other.get("wavers")
                and len(other["requests"]) > 1
                and other["priority"] >= mine["priority"]
                and self._world.queue_of(other["door"]) == self._world.queue_of(mine["door"])
                for other in self.there["workloads"].values()
            )
        )

    def _of_reservation(self, name: str, one: Difference) -> str:  # noqa: C901 - one reason after the other
        known = name in self.ours["workloads"]
        if silent := self._of_silence(name, one):
            return silent
        if self._was_kept(one) and (is_news(one.here) or self._room_went(one)):
            return "not told anew"
        if one.there and one.there[2] == NO_LONGER_FITS and waits(one.here) and one.here == self._before(one.path):
            return "overtaken"
        if not (waits(one.there) and waits(one.here)):
            return ""
        if is_led(self._world, name) and are_of_one_group(one.there, one.here):
            return "order of leaders"
        if counts_below_nothing(one.there) and lacks_room(one.here):
            return "less than nothing"
        if known and lacks_room(one.there) and lacks_room(one.here) and self._a_head_got_in(name):
            return "gathered for a second"
        if known and (one.here in self._said[name] or (lacks_for_now(one.there) and lacks_for_now(one.here))):
            return "kept message"
        if self.child_lost and but_for_capacity(one.there) == but_for_capacity(one.here):
            return "deleted child"
        return _of_order(one, known=known) if one.there and one.here else ""

    def _a_head_got_in(self, name: str) -> bool:
        """Whether a head of a StrictFIFO queue got room in this step on both sides that one of another queue was refused.

        Kueue tries the head at once, and the other one a second later, when less room is left.
        """
        if strategy(self._world, self.ours["workloads"][name]["door"]) == "StrictFIFO":
            return False
        return any(
            not holds(one)
            and strategy(self._world, one["door"]) == "StrictFIFO"
            and all(lies_somewhere(side["workloads"].get(head) or one) for side in (self.there, self.here))
            for head, one in self.ours["workloads"].items()
        )

    def _before(self, path: tuple[str, ...]) -> Any:
        """What Kueue said before."""
        found: Any = self._theirs
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def _is_of_silent_class(self, name: str) -> bool:
        """Whether Kueue never said why it waits, as it has said to another one of its queue and priority that asks, or asked, for the same."""
        mine = self.there["workloads"].get(name)
        if mine is None or ("QuotaReserved" in mine["conditions"] and not self._world.resizes(name)):
            return False
        ours = self.here["workloads"][name]
        told = ours["conditions"].get("QuotaReserved")
        return any(
            one["priority"] == mine["priority"]
            and self._world.queue_of(one["door"]) == self._world.queue_of(mine["door"])
            and (
                one["conditions"].get("QuotaReserved") == told
                or one["requests"] == ours["requests"]
                or self._world.resizes(key)
            )
            and "QuotaReserved" in self.there["workloads"].get(key, mine)["conditions"]
            for key, one in self.here["workloads"].items()
            if key != name
        )

    def _is_tried_as_before(self, name: str) -> bool:
        """Whether a head of a StrictFIFO queue, which Kueue tries all the time, got another size, and is tried in the one before."""
        asked = self.here["workloads"][name]["requests"]
        told = self.there["workloads"][name]["requests"]
        return (
            bool(told) and told != asked and strategy(self._world, self.here["workloads"][name]["door"]) == "StrictFIFO"
        )

    def _is_led_without_a_place(self, name: str) -> bool:
        """Whether it is one of a leader and workers that finds no place here, and Kueue has never said anything of it."""
        mine = self.there["workloads"].get(name)
        if mine is None or "QuotaReserved" in mine["conditions"]:
            return False
        return is_led(self._world, name) and lacks_room(self.here["workloads"][name]["conditions"].get("QuotaReserved"))

    def _door_opened(self, name: str) -> bool:
        """Whether the local queue of a workload came in this step, or takes in again."""
        step, door = self.step, self.there["workloads"][name]["door"]
        opened = step.verb == "create" or step.value.get("spec", {}).get("stopPolicy") == "None"
        return step.kind == "LocalQueue" and step.name == door and opened

    def _has_other_doors(self, queue: str) -> bool:
        """Whether no local queue of a queue is there, or one was deleted, stopped or let go on in this step."""
        step = self.step
        changed = step.verb == "delete" or "stopPolicy" in step.value.get("spec", {})
        if step.kind == "LocalQueue" and changed and self._world.queue_of(step.name) == queue:
            return True
        return not any(self._world.queue_of(door) == queue for door in self.here["doors"])

    def _room_went(self, one: Difference) -> bool:
        """Whether less room is told of here since a Cohort was deleted, or another queue left it, after which Kueue looks at nobody."""
        step = self.step
        gone = step.verb == "delete" and step.kind == "Cohort"
        left = step.kind == "ClusterQueue" and "cohortName" in step.value.get("spec", {})
        return (gone or left) and waits(one.there) and waits(one.here)

    def _was_kept(self, one: Difference) -> bool:
        """Whether Kueue shows what it showed of a workload before."""
        return one.path[1] in self.ours["workloads"] and one.there == self._before(one.path)

    def _has_no_attempt(self, name: str) -> bool:
        """Whether it was refused before a flavor was looked at."""
        condition = self.here["workloads"][name]["conditions"].get("QuotaReserved")
        return condition is not None and not condition[2].startswith(ATTEMPT)

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


def _of_order(one: Difference, *, known: bool) -> str:
    """Why both sides say of different pod sets or resources that there is not enough."""
    if name_one_of_several(one.there[2], one.here[2]):
        return "one of several"
    sides = [re.sub(r"\S+ more needed", "more needed", side[2]) if known else side[2] for side in (one.there, one.here)]
    return "order of resources" if are_one_order(sides[0], sides[1]) else ""


def _evicted(side: Seen, workload: str) -> Counter[tuple[str, str]]:
    evictions = (side["workloads"].get(workload) or {}).get("evictions")
    return Counter({(reason, cause): count for reason, cause, count in evictions or ()})


def preempted_for_ever(theirs: list[Seen], ours: list[Seen]) -> bool:
    """Whether Kueue has preempted the same workloads again and again in the step in which kuelog does so, the last of `ours`."""
    last = len(ours) - 1
    again = _preempted_again(theirs, last)
    return bool(again) and again == _preempted_again(ours, last)


def _preempted_again(found: list[Seen], number: int) -> set[str]:
    """Who was preempted more than twice in a step."""
    sides = [found[one]["workloads"] if 0 <= one < len(found) else {} for one in (number - 1, number)]
    before, after = ({name: preemptions(one) for name, one in side.items()} for side in sides)
    return {name for name, count in after.items() if count > before.get(name, 0) + 2}
