"""What of a Workload object is brought to its job, and how that is told."""

from msgspec.structs import replace

from events.api.labels import ADMISSION_GATED_BY, POD_SETS
from events.json_object import JsonObject
from events.workload import PriorityRef, WorkloadSpec
from projections.workloads.lifecycle import Workload
from projections.workloads.pod_sets_digest import pod_sets_digest
from services.applier.patches import changes_told

WAITS = Workload(
    key="team/w", uid="u", owner=None, created_at=0, generation=1, spec=WorkloadSpec(queue="lq", pod_sets=())
)


def test_what_of_a_workload_was_brought_to_its_job_is_told_in_the_words_for_it() -> None:
    spec = replace(WAITS.spec, priority_class=PriorityRef(name="high", workload=True), gated_by=("a.io/x",))
    wanted = replace(WAITS, spec=spec)
    notes = {POD_SETS: pod_sets_digest(wanted), ADMISSION_GATED_BY: "a.io/x,a.io/y"}
    before: JsonObject = {"metadata": {"annotations": notes}, "spec": {"podSets": []}}
    assert changes_told(before, wanted) == [
        "Updated workload priority class: team/w",
        'Updated workload AdmissionGatedBy to "a.io/x"',
    ]
    others: JsonObject = {"metadata": {"annotations": {POD_SETS: "others"}}, "spec": {"podSets": []}}
    assert changes_told(others, WAITS) == ["Updated not matching Workload for suspended job: team/w"]
    revalued: JsonObject = {"metadata": {}, "spec": {"podSets": [], "priority": 7}}
    assert changes_told(revalued, WAITS) == [], "its class has another value"
