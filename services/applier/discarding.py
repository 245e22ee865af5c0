"""Lets go of the objects of a workload that is retained no longer."""

import structlog

from events.json_object import JsonObject
from services.applier.manifests import finalizers_left
from services.applier.patches import is_another
from services.applier.plan import Application
from services.applier.workloads.known_objects import WORKLOADS
from services.runtime.cluster_port import ObjectConflict, ObjectMissing, Writer

log = structlog.get_logger()


async def delete_job(writer: Writer, application: Application) -> bool:
    """Delete the job that was decided about, by UID, and whether it was there; a later job of the same name stays, and a missing one is no error."""
    owner = application.of.owner
    place = (application.job_resource, application.namespace, application.job)
    try:
        try:
            await writer.delete(*place, uid=owner.uid if owner is not None else "")
            return True
        except ObjectConflict:
            if not is_another(await writer.get(*place), application):
                raise
            log.info("another one by now", job=application.job)
    except ObjectMissing:
        log.debug("gone already", job=application.job)
    return False


async def release_object(writer: Writer, application: Application, meta: JsonObject) -> None:
    """Remove our finalizer from the Workload object with these metadata."""
    left = finalizers_left(meta)
    if left is not None:
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": left}}
        await writer.merge(WORKLOADS, application.namespace, application.name, patch)
