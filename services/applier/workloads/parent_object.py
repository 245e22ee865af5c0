"""The Workload object that a variant belongs to (docs/rules/variants.md)."""

from events.workload import Owner
from projections.workloads.lifecycle import Workload
from services.applier.workloads.known_objects import WORKLOADS
from services.runtime.cluster_port import Writer


async def parent_of(writer: Writer, workload: Workload) -> Owner | None:
    """The owner of a variant's object; None for any other. Raises `ObjectMissing` where the parent is gone."""
    name = workload.spec.variant_of.partition("/")[2]
    if not name:
        return None
    found = await writer.get(WORKLOADS, workload.namespace, name)
    version = f"{WORKLOADS.group}/{WORKLOADS.version}"
    return Owner(kind=WORKLOADS.kind, name=name, uid=found["metadata"]["uid"], api_version=version)
