"""What workloads ask for alike is held once: a value that is decoded again is the one that somebody holds already.

Most of many workloads differ in little but their names. Only the same bytes in the same order are one value, so nothing that
goes through a value can tell; like every value of the log it is never changed in place. What nobody holds any more is forgotten.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from events.catalogue import Fact
from events.pod_set import PodSet
from events.workload import Owner, WorkloadChanged, WorkloadSpec, WorkloadSubmitted

V = TypeVar("V")

_encoder = msgspec.json.Encoder()
_WORDS = 1024
"""So many words are remembered that many workloads have in common, such as kinds of jobs."""


class SharedValues(Generic[V]):
    """Values of one type by what they say, as long as somebody else holds them."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: WeakValueDictionary[bytes, V] = WeakValueDictionary()

    def held(self, value: V) -> V | None:
        """The value that says the same, if there is one."""
        return self._held.get(_digest(value))

    def hold(self, value: V) -> V:
        """The value that says the same; this one from now on, where there is none."""
        return self._held.setdefault(_digest(value), value)


_specs: SharedValues[WorkloadSpec] = SharedValues()
_pod_sets: SharedValues[PodSet] = SharedValues()


def shared_spec(spec: WorkloadSpec) -> WorkloadSpec:
    """The specification that says the same, or at least with pod sets that are held already."""
    found = _specs.held(spec)
    if found is not None:
        return found
    return _specs.hold(replace(spec, pod_sets=tuple(_pod_sets.hold(one) for one in spec.pod_sets)))


def shared_owner(owner: Owner, uid: str) -> Owner:
    """The job with the words that all jobs of its kind have, and with the UID of its workload where that is its own."""
    return replace(
        owner,
        kind=_word(owner.kind),
        api_version=_word(owner.api_version),
        uid=uid if owner.uid == uid else owner.uid,
    )


def sharing(fact: Fact) -> Fact:
    """The fact with what it has in common with others; it says the same."""
    match fact:
        case WorkloadSubmitted():
            owner = None if fact.owner is None else shared_owner(fact.owner, fact.uid)
            return replace(fact, owner=owner, spec=shared_spec(fact.spec))
        case WorkloadChanged():
            return replace(fact, spec=shared_spec(fact.spec))
        case _:
            return fact


@lru_cache(maxsize=_WORDS)
def _word(text: str) -> str:
    return text


def _digest(value: object) -> bytes:
    return blake2b(_encoder.encode(value), digest_size=16).digest()
