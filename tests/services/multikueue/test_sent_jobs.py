"""How many jobs from here run in a cluster, as who follows it sees them: those of all partitions, whoever tells of them.

Rule: docs/rules/multikueue.md#estimates
"""

from events.api.labels import ESTIMATE
from events.json_object import JsonObject
from events.json_path import put
from services.runtime.cluster_port import Changed, Listed, Sight, Vanished
from tests.services.multikueue.test_restored_clusters import Opened, copy, folded
from tests.services.multikueue.test_rules import KEY


class OnePartition(Opened):
    """A process that tells of one workload: all others are another one's."""

    def serves(self, workload: str) -> bool:
        return workload == KEY


def other(name: str, version: int, *conditions: str) -> JsonObject:
    """The copy of a workload that another partition decides about."""
    return put(put(copy(version, *conditions), ("metadata", "name"), name), ("metadata", "uid"), f"copy-{name}")


def answered(version: int) -> JsonObject:
    return put(copy(version), ("metadata", "annotations"), {ESTIMATE: "Now/0"})


async def sent(*sights: Sight) -> int | None:
    """What is told with the answer that was seen last."""
    told = await folded([*sights], process=OnePartition)
    return told.world.remotes[KEY]["w1"].sent


async def test_an_answer_is_told_with_how_many_copies_of_all_partitions_are_admitted_there() -> None:
    there = Listed([other("x", 1, "QuotaReserved", "Admitted"), other("y", 2, "QuotaReserved"), answered(3)], "3")
    assert await sent(there) == 1
    assert await sent(there, Changed(other("y", 4, "Admitted")), Changed(answered(5))) == 2
    assert await sent(there, Changed(other("x", 4, "Admitted", "Evicted")), Changed(answered(5))) == 0
    assert await sent(there, Changed(other("x", 4, "Admitted", "Finished")), Changed(answered(5))) == 0
    assert await sent(there, Vanished(other("x", 4, "Admitted")), Changed(answered(5))) == 0


async def test_what_answers_nothing_is_told_without_a_number() -> None:
    assert await sent(Listed([other("x", 1, "Admitted"), copy(3)], "3")) is None
