"""When a queue may preempt although it ends up borrowing, read from objects as they come from an API server.

Rule: docs/rules/fair-sharing.md#fair-strategies
"""

from typing import Any

import pytest

from events.quota import ClusterQueueObserved
from projections.flavors.mode import may_preempt_while_borrowing
from services.watcher.settings.cluster_objects import cluster_queue

WITHIN = {"withinClusterQueue": "LowerPriority"}
BORROWING = {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}


@pytest.mark.parametrize(
    ("preemption", "fairly", "classically"),
    [
        (None, False, False),
        ({**WITHIN, "reclaimWithinCohort": "Never"}, False, False),
        ({**WITHIN, "reclaimWithinCohort": "LowerPriority"}, True, False),
        (WITHIN, True, False),
        (BORROWING, True, True),
    ],
    ids=["no rules", "Never, as a server fills in", "may reclaim", "left out", "may borrow"],
)
def test_under_fair_sharing_who_may_reclaim_may(preemption: Any, *, fairly: bool, classically: bool) -> None:
    spec = {"namespaceSelector": {}, **({} if preemption is None else {"preemption": preemption})}
    kind = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue"}
    found = cluster_queue({**kind, "metadata": {"name": "cq", "resourceVersion": "1"}, "spec": spec})
    assert isinstance(found, ClusterQueueObserved)
    assert may_preempt_while_borrowing(found.preemption, fair=True) is fairly
    assert may_preempt_while_borrowing(found.preemption, fair=False) is classically
