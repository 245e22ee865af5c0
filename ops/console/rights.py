"""What one person may read of the log: whose workloads, and whether the queues and cards behind them.

Rights are Kubernetes' own. Who may list workloads.kueue.x-k8s.io in a namespace reads the workloads of that namespace, who may
list them on the whole cluster those of all; who may list clusterqueues reads queues, cohorts, cards and the log itself.
"""

from collections.abc import Iterable, Sequence

import msgspec

from ops.console.changes import ShownChange

WORKLOADS, QUEUES = "workloads.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io"


class Forbidden(Exception):
    """Somebody asks for what they may not read."""


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """What may be read; without anything said, everything."""

    namespaces: frozenset[str] | None = None
    """Those whose workloads may be read; None stands for all."""
    queues: bool = True
    """Whether cluster queues may be read, and what else is of the whole cluster."""

    def reads(self, key: str) -> bool:
        """Whether a workload, job or pod may be read, by its `namespace/name`."""
        return self.namespaces is None or key.partition("/")[0] in self.namespaces

    def check_namespace(self, namespace: str) -> None:
        """Raise `Forbidden` unless the workloads of a namespace may be read: nobody else learns whether there are any."""
        if self.namespaces is not None and namespace not in self.namespaces:
            raise Forbidden(f"you may not list {WORKLOADS} in the namespace {namespace}")

    def check_queues(self) -> None:
        """Raise `Forbidden` unless what is of the whole cluster may be read."""
        if not self.queues:
            raise Forbidden(f"you may not list {QUEUES}: queues, cards and the log itself are shown to who may")

    def objects(self, named: Iterable[str]) -> tuple[str, ...]:
        """Of objects by `kind/name` or `kind/namespace/name` those that may be read."""
        return tuple(one for one in named if self._reads_object(one))

    def changes(self, found: Sequence[ShownChange]) -> Sequence[ShownChange]:
        """Of what has happened what may be read."""
        if self == EVERYTHING:
            return found
        seen = ((one, self.objects(one.objects)) for one in found)
        return [msgspec.structs.replace(one, objects=objects) for one, objects in seen if objects]

    def _reads_object(self, named: str) -> bool:
        kind, _, name = named.partition("/")
        if kind == "namespace":
            return self.reads(f"{name}/")
        return self.reads(name) if "/" in name else self.queues


EVERYTHING = Rights()
