"""The API server where it hands requests on: the APIServices of the visibility API, which have to know its authority."""

import structlog

from events.json_object import JsonObject, object_at
from ops.production.visibility.api import GROUP, VERSIONS
from ops.production.visibility.lag_metrics import GROUP as LAG_GROUP
from ops.production.visibility.lag_metrics import VERSION as LAG_VERSION
from services.runtime.cluster_port import ObjectMissing, Resource, Writer

log = structlog.get_logger()

API_SERVICES = Resource(group="apiregistration.k8s.io", plural="apiservices", kind="APIService", namespaced=False)
NAMES = (*(f"{version}.{GROUP}" for version in VERSIONS), f"{LAG_VERSION}.{LAG_GROUP}")


class OwnApiServices:
    """Those APIServices that lead to our service; the others are left alone."""

    def __init__(self, writer: Writer, *, namespace: str, service: str) -> None:
        self._writer = writer
        self._place = (namespace, service)

    async def publish(self, authorities: str) -> None:
        """Put the authority into all of them. May raise `ObjectConflict`."""
        for name in NAMES:
            try:
                found = await self._writer.get(API_SERVICES, "", name)
            except ObjectMissing:
                continue  # Not installed, or not yet.
            spec: JsonObject = found["spec"]
            leads = object_at(spec, "service")
            if (leads.get("namespace"), leads.get("name")) != self._place or spec.get("caBundle") == authorities:
                continue
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            await self._writer.merge(API_SERVICES, "", name, {"metadata": version, "spec": {"caBundle": authorities}})
            log.info("authority published", api=name)
