"""What is known of Workload objects from the answers to our own writes: their version, and what they show of decisions."""

from typing import Any

import msgspec

from services.applier.status_parts import print_of
from services.runtime.cluster_port import Resource

WORKLOADS = Resource(group="kueue.x-k8s.io", version="v1beta2", plural="workloads", kind="Workload")
_MOST = 50_000


class Known(msgspec.Struct, frozen=True):
    """An object as it was answered last."""

    version: str
    shows: str
    """The digest of what it showed of what was decided."""


class KnownObjects:
    """By workload; of too many those that were written longest ago are forgotten: they are written without a version."""

    def __init__(self) -> None:
        self._known: dict[str, Known] = {}

    def of(self, workload: str) -> Known | None:
        """What was answered last."""
        return self._known.get(workload)

    def note(self, workload: str, found: dict[str, Any]) -> Known:
        """Take note of an answer."""
        self._known.pop(workload, None)
        known = Known(found["metadata"]["resourceVersion"], print_of(found.get("status") or {}))
        self._known[workload] = known
        if len(self._known) > _MOST:
            del self._known[next(iter(self._known))]
        return known

    def forget(self, workload: str) -> None:
        """It is gone, or nothing more is written about it."""
        self._known.pop(workload, None)
