"""What workloads ask for and get alike is held once: a value that is decoded again is the one that was decoded before.

Most of many workloads differ in little but their names. Only the same bytes in the same order are one value, so nothing that
goes through a value can tell; like every value of the log it is never changed in place. What was not asked for lately is
forgotten: it may then be held more than once.
"""

from functools import lru_cache

import msgspec
from msgspec.structs import replace

from events.catalogue import Fact
from events.event import Millis
from events.pod_set import PodSet
from events.quota import ClusterQueueObserved, ResourceGroup
from events.workload import Owner, PodSetAssignment, WorkloadChanged, WorkloadFinished, WorkloadSpec, WorkloadSubmitted

_encoder = msgspec.json.Encoder()
_specs = msgspec.json.Decoder(WorkloadSpec)
_pod_sets = msgspec.json.Decoder(PodSet)
_owners = msgspec.json.Decoder(Owner)
_resource_groups = msgspec.json.Decoder(tuple[ResourceGroup, ...])
_assignments = msgspec.json.Decoder(tuple[PodSetAssignment, ...])
SPECS = 32_768
"""So many specifications are remembered, the last that were asked for: there is one for each kind of job in each queue."""
_POD_SETS, _OWNERS, _ASSIGNMENTS, _TEXTS, _TIMES = 4096, 1024, 8192, 8192, 64
_GROUPS = 1024


def shared_spec(spec: WorkloadSpec) -> WorkloadSpec:
    """The specification that says the same, or at least one with pod sets that are held already."""
    return _spec(_encoder.encode(spec))


def shared_owner(owner: Owner, uid: str) -> Owner:
    """The job with the words that all jobs of its kind have, and with the UID of its workload where that is its own."""
    alike = _owner(_encoder.encode(replace(owner, name="", uid="")))
    return replace(alike, name=owner.name, uid=uid if owner.uid == uid else owner.uid)


def shared_assignments(assigned: tuple[PodSetAssignment, ...]) -> tuple[PodSetAssignment, ...]:
    """The assignments that say the same; those of pods that have places are hardly ever alike, and stay what they are."""
    if any(one.topology is not None for one in assigned):
        return assigned
    return _assigned(_encoder.encode(assigned))


@lru_cache(maxsize=_TEXTS)
def shared_text(text: str) -> str:
    """The text that was asked for first of all that say the same, such as the name of a queue."""
    return text


def sharing(fact: Fact) -> Fact:
    """The fact with what it has in common with others; it says the same."""
    match fact:
        case WorkloadSubmitted():
            owner = None if fact.owner is None else shared_owner(fact.owner, fact.uid)
            return replace(fact, owner=owner, spec=shared_spec(fact.spec), created_at=_time(fact.created_at))
        case WorkloadChanged():
            return replace(fact, spec=shared_spec(fact.spec))
        case ClusterQueueObserved():
            return replace(fact, groups=_groups(_encoder.encode(fact.groups)))
        case WorkloadFinished():
            return replace(fact, reason=shared_text(fact.reason), message=shared_text(fact.message))
        case _:
            return fact


@lru_cache(maxsize=_TIMES)
def _time(at: Millis) -> Millis:
    """The time; clusters tell it in whole seconds, so that many are created at the same one."""
    return at


@lru_cache(maxsize=SPECS)
def _spec(asked: bytes) -> WorkloadSpec:
    spec = _specs.decode(asked)
    return replace(spec, pod_sets=tuple(_pod_set(_encoder.encode(one)) for one in spec.pod_sets))


@lru_cache(maxsize=_POD_SETS)
def _pod_set(asked: bytes) -> PodSet:
    return _pod_sets.decode(asked)


@lru_cache(maxsize=_ASSIGNMENTS)
def _assigned(assigned: bytes) -> tuple[PodSetAssignment, ...]:
    return _assignments.decode(assigned)


@lru_cache(maxsize=_GROUPS)
def _groups(owned: bytes) -> tuple[ResourceGroup, ...]:
    return _resource_groups.decode(owned)


@lru_cache(maxsize=_OWNERS)
def _owner(asked: bytes) -> Owner:
    """A job without a name. By its bytes, for a text that is spelled out is written again, and a default is not."""
    return _owners.decode(asked)
