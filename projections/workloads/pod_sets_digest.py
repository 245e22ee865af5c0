"""What a workload asks for, as one short text: its object and its copies in other clusters bear that."""

import hashlib

import msgspec

from projections.workloads.lifecycle import Workload


def pod_sets_digest(workload: Workload) -> str:
    """A digest by which two states of a workload's pod sets are told apart."""
    text = msgspec.json.encode(workload.spec.pod_sets, order="deterministic")
    return hashlib.blake2b(text, digest_size=8).hexdigest()
