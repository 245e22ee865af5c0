"""A workload that comes from a saved world, holding what it has in common with others as those that were folded do."""

from collections.abc import Callable

from msgspec.structs import replace

from events.no_entries import no_entries
from events.shared_specs import shared_assignments, shared_owner, shared_spec
from events.workload import CheckStatus, Condition, GateState
from projections.workloads.lifecycle import Admission, Provisioning, Workload

Word = Callable[[str, str], str]
"""Hands out the first of all texts that are equal to its two arguments, as `dict.setdefault` does."""


def sharing(workload: Workload, word: Word) -> Workload:
    """The workload; it says the same."""
    return replace(
        workload,
        owner=None if workload.owner is None else shared_owner(workload.owner, workload.uid),
        spec=shared_spec(workload.spec),
        equivalence=word(workload.equivalence, workload.equivalence),
        line=word(workload.line, workload.line),
        admission=None if workload.admission is None else _sharing(workload.admission),
        conditions=workload.conditions or no_entries(Condition),
        checks=workload.checks or no_entries(CheckStatus),
        provisioning=workload.provisioning or no_entries(Provisioning),
        reclaimable=workload.reclaimable or no_entries(int),
        gates=workload.gates or no_entries(GateState),
    )


def _sharing(admission: Admission) -> Admission:
    return replace(admission, assignments=shared_assignments(admission.assignments))
