"""A job that asks for other pods than it was let in with.

Rule: docs/rules/eviction.md#other-pods
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from events.pod_set import PodSet
from projections.workloads.lifecycle import Admission, Workload
from projections.workloads.pods import made_of_pods


def noting_others(before: Workload, after: Workload) -> Workload:
    """The workload after a change, with what its quota was reserved for as long as its job asks for other pods than that."""
    admission = after.admission
    if admission is None or after.spec.pod_sets == before.spec.pod_sets:
        return after
    reserved_for = admission.reserved_for or before.spec.pod_sets
    noted = () if same_pods(reserved_for, after.spec.pod_sets) else reserved_for
    return (
        after if noted == admission.reserved_for else replace(after, admission=replace(admission, reserved_for=noted))
    )


def asks_for_others(workload: Workload) -> str:
    """What a job that holds quota asks for otherwise than it was let in; empty where nothing is.

    Not so in a group of pods, which come and go while it runs. An elastic job changes its size by slices, and goes on with the
    pods that run, unless it asks for other pod sets than it has. A job of which some pods were done when it was let in was let
    in with the others alone.
    """
    admission, wanted = workload.admission, workload.resizing.wanted
    if admission is None or workload.owner is None or made_of_pods(workload):
        return ""
    if not workload.spec.elastic:
        others = _others(admission.reserved_for, workload.spec.pod_sets, counts=not workload.admitted)
        told = {**_other_counts(workload, admission), **others}
    elif wanted and not workload.pods_may_run:
        told = _others(workload.spec.pod_sets, wanted, counts=False)
    else:
        return asks_for_other_pod_sets(workload, wanted)
    return _message(told)


def asks_for_other_pod_sets(workload: Workload, asked: Sequence[PodSet]) -> str:
    """What pod sets are asked for that a workload has not, or the other way round; empty where there are none.

    Rule: docs/rules/elastic.md#scale-up
    """
    own = {one.name for one in workload.spec.pod_sets}
    told = _others(workload.spec.pod_sets, asked, counts=False) if asked else {}
    return _message({name: text for name, text in told.items() if name in own ^ {one.name for one in asked}})


def _message(told: Mapping[str, str]) -> str:
    return f"The job asks for {', and '.join(told.values())}" if told else ""


def _other_counts(workload: Workload, admission: Admission) -> dict[str, str]:
    asked = {one.name: one.count for one in workload.spec.pod_sets if one.minimum is None}
    return {
        one.name: f"{asked[one.name]} pods for {one.name}, which was let in with {one.count}"
        for one in admission.assignments
        if not 0 <= asked.get(one.name, one.count) - one.count <= admission.done_before.get(one.name, 0)
    }


def _others(reserved_for: Sequence[PodSet], asked: Sequence[PodSet], *, counts: bool) -> dict[str, str]:
    """By pod set, what else is asked for than quota was reserved for, if that is known; other counts only where these say so."""
    before = {one.name: one for one in reserved_for}
    after = {one.name: one for one in asked} if before else {}
    told: dict[str, str] = {}
    for name in {**before, **after}:
        if name not in after:
            told[name] = f"no pods for {name}, which was let in with {before[name].count}"
        elif name not in before:
            told[name] = f"{after[name].count} pods for {name}, which was let in with none"
        elif not _alike(before[name], after[name], counts=counts):
            told[name] = f"other pods for {name} than it was let in with"
    return told


def _alike(one: PodSet, other: PodSet, *, counts: bool) -> bool:
    """Whether pods of one are as those of the other. How they are to lie in a topology is no part of them, as under Kueue."""
    if (counts or one.minimum is not None) and one.count != other.count:
        return False
    return one.minimum == other.minimum and _unspelled(one).shape == _unspelled(other).shape


def same_pods(some: Sequence[PodSet], others: Sequence[PodSet]) -> bool:
    """Whether the pods are the same but for how their templates are spelled: restored, one says what was implied.

    What they claim comes to is not in the templates.
    """
    return [_unspelled(one) for one in some] == [_unspelled(one) for one in others]


def _unspelled(one: PodSet) -> PodSet:
    return replace(one, claims=None, shape=replace(one.shape, raw_shape=""))
