"""Which workloads are alike for scheduling: what fits for one fits for the other (kueue-semantics §3.5)."""

import hashlib

import msgspec

from projections.workloads import Workload

_encoder = msgspec.json.Encoder(order="deterministic")


def equivalence_of(workload: Workload) -> str:
    """The class of workloads that ask for the same: pod sets, effective counts, priority and flavors."""
    spec = workload.spec
    asked = _encoder.encode((spec.pod_sets, workload.reclaimable, workload.priority, spec.allowed_flavors))
    return hashlib.blake2b(asked, digest_size=12).hexdigest()
