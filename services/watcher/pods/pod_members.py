"""Which pods of a group take a place in it, which were replaced, and which are too many: as Kueue reckons it."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from events.event import Millis
from events.json_object import JsonObject
from events.json_path import get
from events.timestamp import parse_timestamp
from events.workload import Member, MemberState
from services.jobs.kinds import pods as rules

Role = Callable[[JsonObject], str]
"""To which pod set a pod belongs."""


class GroupMembers(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of a group, oldest first."""

    kept: tuple[JsonObject, ...] = ()
    """Pods that have a place in the group; some of them may have failed and wait to be replaced."""
    missing: int = 0
    """How many places have no pod that runs, may run or has succeeded."""
    excess: tuple[JsonObject, ...] = ()
    """Pods for which there is no place."""
    replaced: tuple[JsonObject, ...] = ()
    """Pods whose place another pod has taken."""


def counts_on(pod: JsonObject) -> bool:
    """Whether a pod runs, may run yet or has succeeded; one that was deleted before it got to a node never runs."""
    if rules.is_leaving(pod) and not get(pod, ("spec", "nodeName")):
        return False
    return get(pod, ("status", "phase")) != "Failed"


def group_members(found: Sequence[JsonObject], room: Mapping[str, int], role: Role) -> GroupMembers:
    """Give the places of each pod set to its pods; those of no pod set of the group stay out of it."""
    kept: list[JsonObject] = []
    excess: list[JsonObject] = []
    replaced: list[JsonObject] = []
    missing = 0
    for name, count in room.items():
        mine = [one for one in found if role(one) == name]
        able = sorted((one for one in mine if counts_on(one)), key=_to_be_kept)
        ended = sorted((one for one in mine if not counts_on(one)), key=age)
        ended.sort(key=_ended_at, reverse=True)
        ended.sort(key=lambda one: not rules.is_held(one))
        places = max(count - len(able), 0)
        kept += [*able[:count], *ended[:places]]
        excess += able[count:]
        replaced += ended[places:]
        missing += places
    return GroupMembers(
        kept=tuple(sorted(kept, key=age)),
        missing=missing,
        excess=tuple(sorted(excess, key=age)),
        replaced=tuple(sorted(replaced, key=age)),
    )


def members_of(kept: Sequence[JsonObject], role: Role) -> tuple[Member, ...]:
    """The pods that take a place, as members in a fact."""
    return tuple(
        Member(
            name=one["metadata"]["name"],
            uid=one["metadata"].get("uid", ""),
            pod_set=role(one),
            state=_how_far(one),
            holds_until=_holds_until(one),
        )
        for one in kept
    )


def age(pod: JsonObject) -> tuple[str, str]:
    """What orders pods from the oldest to the newest."""
    meta = pod["metadata"]
    return str(meta.get("creationTimestamp", "")), str(meta["name"])


def _to_be_kept(pod: JsonObject) -> tuple[bool, bool, tuple[str, str]]:
    return not rules.is_held(pod), rules.is_gated(pod), age(pod)


def _ended_at(pod: JsonObject) -> str:
    """The time that it was last of use; the newest goes last."""
    conditions = get(pod, ("status", "conditions")) or ()
    failed = [str(one.get("lastTransitionTime", "")) for one in conditions if one.get("type") == "ContainersReady"]
    return min([one for one in (*failed, str(pod["metadata"].get("deletionTimestamp") or "")) if one], default="")


def _how_far(pod: JsonObject) -> MemberState:
    if rules.is_over(pod) or not counts_on(pod):
        return MemberState.OVER
    return MemberState.GATED if rules.is_waiting(pod) else MemberState.LIVE


def _holds_until(pod: JsonObject) -> Millis:
    """Until when a pod holds quota that hangs while it is being deleted: Kueue adds the grace period to a time that it is part of already."""
    meta = pod["metadata"]
    told, grace = meta.get("deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
    if not told or grace is None or _how_far(pod) is not MemberState.LIVE:
        return 0
    return parse_timestamp(told) + 1000 * int(grace)
