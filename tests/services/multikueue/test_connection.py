"""A worker cluster that answers oddly: nothing that it says ends the connection to it for good.

Rule: docs/rules/multikueue.md#connection
"""

from services.multikueue.remote_workloads import remote_workload_fact
from services.runtime.cluster_port import Listed
from tests.services.multikueue.test_restored_clusters import copy, folded, standing


async def test_a_cluster_whose_answer_is_not_understood_is_connected_again() -> None:
    odd = copy(40)
    odd["spec"]["podSets"][0]["count"] = "many"
    told = await folded([Listed([odd], "40")], [Listed([copy(50)], "60")])
    assert standing(told) == (50, [])


def test_a_condition_whose_time_cannot_be_read_counts_from_the_beginning() -> None:
    value = copy(40, "Admitted")
    value["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    assert remote_workload_fact("w1", value).conditions["Admitted"].since == 0
    del value["status"]["conditions"][0]["lastTransitionTime"]
    assert remote_workload_fact("w1", value).conditions["Admitted"].since == 0
