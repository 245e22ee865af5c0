from events.control import ObjectRemoved
from events.quota import ClusterQueueObserved, CohortObserved
from projections.counters.cohort_ancestry import CohortAncestry
from projections.trail import Trail


def test_cohorts_above_a_queue_are_told_from_below_as_they_were_seen_last_and_once_where_they_go_round() -> None:
    trail = Trail()
    ancestry = CohortAncestry(trail)
    for one in (
        ClusterQueueObserved(name="cq", cohort="team"),
        CohortObserved(name="team", parent="site"),
        CohortObserved(name="site", parent="root"),
    ):
        ancestry.fold(one)
    assert list(ancestry.above("cq")) == ["team", "site", "root"]
    before = trail.mark()
    ancestry.fold(CohortObserved(name="root", parent="team"))
    assert list(ancestry.above("cq")) == ["team", "site", "root"]
    ancestry.fold(ObjectRemoved(kind="Cohort", name="team"))
    assert list(ancestry.above("cq")) == ["team"]
    ancestry.fold(ObjectRemoved(kind="ClusterQueue", name="cq"))
    assert list(ancestry.above("cq")) == []
    trail.undo(before)
    assert list(ancestry.above("cq")) == ["team", "site", "root"]
    assert list(ancestry.above("nowhere")) == []
