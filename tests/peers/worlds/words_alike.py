"""Words of Kueue and of kuelog that say the same: those of a later version, in another order, of another resource."""

import re

from tests.peers.worlds.difference import Difference
from tests.peers.worlds.standing import ATTEMPT

_LATER = (
    (r"^DynamicResourceAllocation feature ", r"^KueueDRAIntegration feature "),
    (r"At least one admission check is false$", r"Evicted due to AdmissionChecks? in Retry state: .*$"),
    (r"Admission check\(s\): \S+, were rejected$", r"AdmissionChecks? in Rejected state: .*$"),
)
"""How Kueue 0.17 says something, and how later versions do."""


def worded_later(one: Difference) -> bool:
    if not (one.there and one.here and one.there[:2] == one.here[:2]):
        return False
    return any(
        re.search(later, one.here[2]) and re.sub(earlier, "", one.there[2]) == re.sub(later, "", one.here[2])
        for earlier, later in _LATER
    )


def only_kept(check: Difference) -> bool:
    """Whether a check was required anew under Kueue, and all the time here."""
    told = check.here and check.here[0] == "Pending" and check.here[1].startswith("Reset to Pending after eviction")
    return check.there == ["Pending", "", 0] and bool(told)


def is_left_target(one: Difference) -> bool:
    """Whether a target of who has run too long is shown by Kueue alone."""
    return one.here is None and one.there[:2] == ["True", "MaximumExecutionTimeExceeded"]


def names_the_same(there: list[str] | None, here: list[str] | None) -> bool:
    """Whether both conditions are of the same words in another order."""
    if not (there and here):
        return False
    sides = [[*one[:2], *sorted(re.split(r"[ ,.]+", one[2]))] for one in (there, here)]
    return sides[0] == sides[1]


def name_one_of_several(there: str, here: str) -> bool:
    """Whether both say the same of another one of the pod sets that find no place in a topology."""
    place = r"(pod set )\S+(: topology )"
    return bool(re.search(place, there)) and re.sub(place, r"\1\2", there) == re.sub(place, r"\1\2", here)


def but_for_capacity(condition: list[str] | None) -> str:
    """Its message without how much there is in all."""
    return re.sub(r"maximum capacity \(\S+\)", "maximum capacity", condition[2]) if condition else ""


def counts_below_nothing(condition: list[str] | None) -> bool:
    """Whether so many slices are told to fit that are fewer than none."""
    return condition is not None and bool(re.search(r"; -[0-9]+/[0-9]+ slice\(s\) fit on level ", condition[2]))


def are_of_one_group(there: list[str] | None, here: list[str] | None) -> bool:
    """Whether both conditions say the same of different pod sets."""
    if not (there and here and there[:2] == here[:2]):
        return False
    sides = [re.sub(rf"^{ATTEMPT}\S+: ", "", one[2]) for one in (there, here)]
    return sides[0] == sides[1] and there[2] != here[2]


def are_one_order(there: str, here: str) -> bool:
    """Whether both stop at different resources of one pod set, and say the same of those that both name."""
    if _nodes_that_lack(there) == _nodes_that_lack(here):
        return True
    sides = [_clauses(one) for one in (there, here)]
    common = sides[0].keys() & sides[1].keys()
    return sides[0].keys() != sides[1].keys() and all(sides[0][one] == sides[1][one] for one in common)


def _clauses(message: str) -> dict[tuple[str, str, str], str]:
    """What an attempt says, by pod set, resource and flavor."""
    found: dict[tuple[str, str, str], str] = {}
    for part in re.split(rf"(?:^|; ){ATTEMPT}", message):
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
