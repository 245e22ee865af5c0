"""Which workloads are alike for scheduling: what fits for one fits for the other (docs/rules/queues.md#equivalence)."""

import hashlib
from functools import lru_cache

import msgspec

from projections.workloads.lifecycle import Workload

_encoder = msgspec.json.Encoder(order="deterministic")
_REMEMBERED = 4096
"""So many classes are remembered: all workloads of one hold the same name of it."""


def equivalence_of(workload: Workload, *, by_namespace: bool) -> str:
    """The class of workloads that ask for the same: pod sets, effective counts, priority and flavors.

    Where limit ranges fill in what pods leave out, workloads of different namespaces are not alike.
    """
    spec = workload.spec
    namespace = workload.namespace if by_namespace else ""
    # What a slice asks for beyond the one that it replaces is like nobody else's.
    alone = (spec.replaces,) if spec.replaces else ()
    # Nor is what becomes of a variant, because that depends on the others of its workload.
    alone += (spec.variant_of,) if spec.variant_of else ()
    asked = _encoder.encode(
        (spec.pod_sets, workload.reclaimable, workload.priority, spec.allowed_flavors, namespace, *alone)
    )
    return _class_of(asked)


@lru_cache(maxsize=_REMEMBERED)
def _class_of(asked: bytes) -> str:
    return hashlib.blake2b(asked, digest_size=12).hexdigest()
