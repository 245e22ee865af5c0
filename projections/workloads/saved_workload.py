"""A workload as worlds are saved and digested with it: one flat record, whose bytes commits on the log name.

Its fields and their order are those of all worlds that were ever saved under the rules in force, so a record that is held
in another shape is brought into this one first.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

from events.admission import AdmissionRefused, PreemptionRequested
from events.event import Millis
from events.no_entries import no_entries
from events.pod_set import PodSet
from events.shared_specs import shared_assignments, shared_owner, shared_spec
from events.workload import CheckStatus, Condition, EvictionCount, GateState, Owner, WorkloadSpec
from projections.workloads.in_cluster import InCluster, News
from projections.workloads.lifecycle import (
    NEVER_PLACED_AGAIN,
    Admission,
    Devices,
    Provisioning,
    SecondPass,
    Workload,
)
from projections.workloads.resizing import Resizing
from projections.workloads.stops import Requeue, Stops

Word = Callable[[str, str], str]
"""Hands out the first of all texts that are equal to its two arguments, as `dict.setdefault` does."""


class SavedSecondPass(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The fields of `SecondPass` but for the nodes that have failed, which are saved beside it."""

    failures: int = 0
    again_at: Millis = 0
    message: str = ""
    placed: int = 0


class SavedWorkload(msgspec.Struct, frozen=True, gc=False):
    """The fields of `Workload` and of its parts, which say what they mean."""

    key: str
    uid: str
    owner: Owner | None
    created_at: Millis
    generation: int
    spec: WorkloadSpec
    equivalence: str = ""
    conditions: dict[str, Condition] = {}
    admission: Admission | None = None
    devices: Devices | None = None
    checks: dict[str, CheckStatus] = {}
    provisioning: dict[str, Provisioning] = {}
    reclaimable: dict[str, int] = {}
    second_pass: SavedSecondPass = SavedSecondPass()
    unhealthy_nodes: tuple[str, ...] = ()
    requeue: Requeue = Requeue()
    past_execution: Millis = 0
    evictions: tuple[EvictionCount, ...] = ()
    gates: dict[str, GateState] = {}
    attempt: AdmissionRefused | PreemptionRequested | None = None
    line: str = ""
    preempted_count: int = 0
    preempted_at: Millis | None = None
    preempted_by: tuple[tuple[str, int], ...] = ()
    admitted_at: Millis | None = None
    decided: int = 0
    applied: int = 0
    job_turned: int = 0
    seen: int = 0
    shown: int = 0
    finish_shown: bool = False
    deactivated_by: int = 0
    start_failed: str = ""
    released: bool = False
    earlier: tuple[int, ...] = ()
    written: int = 0
    news: tuple[News, ...] = ()
    discarded: str = ""
    stopped_by: int = 0
    marks: tuple[str, ...] = ()
    pods_gone: str = ""
    wanted: tuple[PodSet, ...] = ()
    prebuilt: bool = False
    continues: bool = False
    shrunk: bool = False


_PARTS: dict[str, type[Stops | InCluster | Resizing]] = {"stops": Stops, "in_cluster": InCluster, "resizing": Resizing}
"""The parts of a record by its field."""
_OWN = tuple(name for name in Workload.__struct_fields__ if name not in _PARTS and name != "second_pass")
_NEVER_PLACED_AGAIN = SavedSecondPass()
_places: dict[str, str] = {
    **{name: name for name in (*_OWN, "second_pass")},
    **{name: f"{part}.{name}" for part, kind in _PARTS.items() for name in kind.__struct_fields__},
    "unhealthy_nodes": "second_pass.unhealthy_nodes",
}
_values = attrgetter(*(_places[name] for name in SavedWorkload.__struct_fields__))
"""All that is saved of a workload, in the order of the fields: a world has many, and all are saved at once."""
_SECOND_PASS = SavedWorkload.__struct_fields__.index("second_pass")


def as_saved(workload: Workload) -> SavedWorkload:
    """The workload as it is saved."""
    values = list(_values(workload))
    values[_SECOND_PASS] = _second_pass_as_saved(workload.second_pass)
    return SavedWorkload(*values)


def _second_pass_as_saved(tried: SecondPass) -> SavedSecondPass:
    if tried is NEVER_PLACED_AGAIN:
        return _NEVER_PLACED_AGAIN
    return SavedSecondPass(failures=tried.failures, again_at=tried.again_at, message=tried.message, placed=tried.placed)


def as_held(one: SavedWorkload, word: Word) -> Workload:
    """The workload that was saved, holding what it has in common with others as those that were folded do."""
    fields: dict[str, Any] = {name: getattr(one, name) for name in _OWN}
    for part, kind in _PARTS.items():
        found = kind(**{name: getattr(one, name) for name in kind.__struct_fields__})
        if found != kind():
            fields[part] = found  # Else it holds the value that all others hold.
    tried = {name: getattr(one.second_pass, name) for name in SavedSecondPass.__struct_fields__}
    second_pass = SecondPass(**tried, unhealthy_nodes=one.unhealthy_nodes)
    if second_pass != NEVER_PLACED_AGAIN:
        fields["second_pass"] = second_pass
    fields |= {
        "owner": None if one.owner is None else shared_owner(one.owner, one.uid),
        "spec": shared_spec(one.spec),
        "equivalence": word(one.equivalence, one.equivalence),
        "line": word(one.line, one.line),
        "admission": None if one.admission is None else _sharing(one.admission),
        "conditions": one.conditions or no_entries(Condition),
        "checks": one.checks or no_entries(CheckStatus),
        "provisioning": one.provisioning or no_entries(Provisioning),
        "reclaimable": one.reclaimable or no_entries(int),
        "gates": one.gates or no_entries(GateState),
    }
    return Workload(**fields)


def _sharing(admission: Admission) -> Admission:
    return msgspec.structs.replace(admission, assignments=shared_assignments(admission.assignments))
