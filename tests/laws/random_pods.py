"""Pods of random lives that no job starts and stops: alone and in groups, let through one by one, ended, deleted and replaced.

Rules: docs/rules/objects.md, docs/rules/eviction.md
"""

from msgspec.structs import replace

from events.catalogue import Fact
from events.pod import PodAccounted
from events.pod_set import PodSet
from events.workload import (
    Member,
    MemberState,
    Owner,
    PodsReclaimed,
    WorkloadChanged,
    WorkloadDeleted,
    WorkloadFinished,
    WorkloadSpec,
    WorkloadSubmitted,
)
from projections.workloads.lifecycle import Workload
from projections.workloads.pods import made_of_pods
from tests.laws.beside import Beside, Happenings

_GATED, _LIVE, _OVER = MemberState.GATED, MemberState.LIVE, MemberState.OVER


class Pods(Beside):
    """Most of what would be a job is made of pods."""

    name = "pods"
    often = 0.2

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.made = 0
        self.members: dict[str, tuple[Member, ...]] = {}
        """By workload its pods, as they were told last."""

    def shown(self, fact: Fact) -> Fact:
        match fact:
            case WorkloadSubmitted(owner=owner) if owner is not None and self.chance.random() < 0.7:
                return self._made_of_pods(fact, owner)
            case WorkloadChanged() if fact.workload in self.members:
                return replace(fact, spec=self._kept(fact))
            case WorkloadDeleted() | WorkloadFinished():
                self.members.pop(fact.workload, None)
                return fact
            case _:
                return fact

    def happenings(self) -> Happenings:
        return ((self.go_on, 15), (self.account, 2))

    def pods_may_be_gone(self, one: Workload) -> bool:
        """Of pods it is seen in the workload itself."""
        return not made_of_pods(one)

    def go_on(self) -> None:
        """Pods are let through, run, end and go; what has to stop is deleted pod by pod, and a group is made whole again."""
        found = self.life.every(lambda one: one.key in self.members and not one.finished)
        for one in self.chance.sample(found, k=min(3, len(found))):
            if one.owner is not None and one.owner.is_pod:
                self._go_on_alone(one)
            else:
                self._go_on_together(one)

    def _go_on_alone(self, one: Workload) -> None:
        (member,) = self.members[one.key]
        if one.evicted and member.state is _LIVE:
            ended = WorkloadFinished(workload=one.key, reason="Failed")
            self.life.tell(self.chance.choice((WorkloadDeleted(workload=one.key), ended)))
        elif member.state is _OVER:
            self.life.tell(WorkloadFinished(workload=one.key, reason="Succeeded"))
        else:
            self._tell(one, (self._next(one, member),))

    def _go_on_together(self, one: Workload) -> None:
        members = list(self.members[one.key])
        counts = {each.name: each.count for each in one.spec.pod_sets}
        if len(members) < sum(counts.values()) and self.chance.random() < 0.7:
            for each in members:
                counts[each.pod_set] -= 1
            members.append(self._member(next(name for name, count in counts.items() if count > 0)))
        elif members:
            which = self.chance.randrange(len(members))
            if members[which].state is not _OVER and (one.evicted or self.chance.random() < 0.1):
                del members[which]
            else:
                members[which] = self._next(one, members[which])
        self._tell(one, tuple(members))
        over = {name: sum(each.pod_set == name and each.state is _OVER for each in members) for name in counts}
        if any(over.values()):
            self.life.tell(PodsReclaimed(workload=one.key, counts=over))
        if members and all(each.state is _OVER for each in members) and self.chance.random() < 0.5:
            self.life.tell(WorkloadFinished(workload=one.key, reason="Succeeded"))

    def account(self) -> None:
        """A pod that had to go is let go."""
        one = self.life.one(lambda one: bool(self.members.get(one.key)))
        if one is not None:
            member = self.chance.choice(self.members[one.key])
            doomed = self.chance.choice(("", "ExcessPodDeleted", "WorkloadDeleted"))
            self.life.tell(
                PodAccounted(workload=one.key, namespace=one.namespace, name=member.name, uid=member.uid, doomed=doomed)
            )

    def _next(self, one: Workload, member: Member) -> Member:
        """What becomes of a pod: it runs once it may, or because somebody took its gate away."""
        by_hand = self.chance.random() < 0.03
        if member.state is _GATED:
            return replace(member, state=_LIVE) if one.admitted or by_hand else member
        return replace(member, state=_OVER) if self.chance.random() < 0.4 else member

    def _tell(self, one: Workload, members: tuple[Member, ...]) -> None:
        if members != self.members[one.key]:
            self.members[one.key] = members
            self.life.tell(WorkloadChanged(workload=one.key, spec=one.spec, generation=one.generation))

    def _kept(self, fact: WorkloadChanged) -> WorkloadSpec:
        """Pods stay what they are, whatever else is asked of them."""
        one = self.life.world.workloads.get(fact.workload)
        spec, members = fact.spec, self.members[fact.workload]
        if one is not None:
            spec = replace(one.spec, queue=spec.queue, priority=spec.priority, gated_by=spec.gated_by)
        missing = sum(each.count for each in spec.pod_sets) - len(members)
        return replace(spec, members=members, waits_for_pods=missing > 0)

    def _made_of_pods(self, fact: WorkloadSubmitted, owner: Owner) -> WorkloadSubmitted:
        alone = self.chance.random() < 0.5
        sets = tuple(_whole(one, 1 if alone else one.count) for one in fact.spec.pod_sets[: 1 if alone else None])
        members = tuple(self._member(one.name) for one in sets for _ in range(one.count))
        self.members[fact.workload] = members
        spec = replace(fact.spec, pod_sets=sets, members=members, elastic=False, slice_name="", replaces="")
        kind = "Pod" if alone else "PodGroup"
        return replace(fact, owner=replace(owner, kind=kind, api_version="v1"), spec=spec)

    def _member(self, pod_set: str) -> Member:
        self.made += 1
        return Member(name=f"m{self.made}", uid=f"m{self.made}", pod_set=pod_set)


def _whole(one: PodSet, count: int) -> PodSet:
    """Pods are there or not: none of them asks for fewer."""
    topology = one.topology
    if topology is not None and topology.slices and count % topology.slices[0].size:
        topology = None
    return replace(one, count=count, minimum=None, topology=topology)
