"""Deletes the job of a workload that is retained no longer."""

import structlog

from services.applier.patches import is_another
from services.applier.plan import Application
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
