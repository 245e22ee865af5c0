"""Keeps a server trusted: the Secret with authority and certificate, and the clients that have to know the authority."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Protocol

import structlog

from events.json_object import JsonObject
from events.json_path import difference
from ops.production.crds.definitions import DEFINITIONS, GROUP
from ops.production.webhook.certificates import HeldCertificates, renewed
from ops.production.webhook.configurations import MUTATING, VALIDATING, conversion
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ObjectConflict, ObjectMissing, Resource, Writer

log = structlog.get_logger()

SECRETS = Resource(plural="secrets", kind="Secret")
CONFIGURATIONS = (
    (
        Resource(
            group="admissionregistration.k8s.io",
            plural="mutatingwebhookconfigurations",
            kind="MutatingWebhookConfiguration",
            namespaced=False,
        ),
        MUTATING,
    ),
    (
        Resource(
            group="admissionregistration.k8s.io",
            plural="validatingwebhookconfigurations",
            kind="ValidatingWebhookConfiguration",
            namespaced=False,
        ),
        VALIDATING,
    ),
)
DEFINED = Resource(
    group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition", namespaced=False
)
_FIELDS = {"ca.crt": "authorities", "ca.key": "authority_key", "tls.crt": "certificate", "tls.key": "key"}


class Hearers(Protocol):
    """The clients that have to know the authority."""

    async def publish(self, authorities: str) -> None:
        """Publish the authority to them: PEM in base64. May raise `ObjectConflict`."""
        ...


class Callers:
    """The API server where it calls webhooks: their configurations, and the definitions that are converted."""

    def __init__(self, writer: Writer, *, namespace: str, service: str) -> None:
        self._writer, self._namespace, self._service = writer, namespace, service

    async def publish(self, authorities: str) -> None:
        """Publish the authority to all of them. May raise `ObjectConflict`."""
        for resource, name in CONFIGURATIONS:
            await self._publish_to_webhooks(resource, name, authorities)
        for definition in DEFINITIONS:
            await self._publish_to_definition(f"{definition.plural}.{GROUP}", authorities)

    async def _publish_to_webhooks(self, resource: Resource, name: str, authorities: str) -> None:
        try:
            found = await self._writer.get(resource, "", name)
        except ObjectMissing:
            return  # Not installed, or not yet.
        webhooks = [
            {**one, "clientConfig": {**one["clientConfig"], "caBundle": authorities}}
            for one in found.get("webhooks") or ()
        ]
        if webhooks != (found.get("webhooks") or []):
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            await self._writer.merge(resource, "", name, {"metadata": version, "webhooks": webhooks})
            log.info("authority published", configuration=name)

    async def _publish_to_definition(self, name: str, authorities: str) -> None:
        """A definition of Kueue's own would go on to ask Kueue: from now on it asks us."""
        try:
            found = await self._writer.get(DEFINED, "", name)
        except ObjectMissing:
            return
        wanted = conversion(self._service, self._namespace, authorities)
        asked: JsonObject = found["spec"].get("conversion") or {}
        if asked != wanted:
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            # What is asked so far goes: an address beside our service would be refused.
            patch = {"metadata": version, "spec": {"conversion": difference(asked, wanted)}}
            await self._writer.merge(DEFINED, "", name, patch)
            log.info("authority published", definition=name)


class CertificateKeeper:
    """One replica's care for the common certificate; several at once do the same work and harm nothing."""

    def __init__(
        self, writer: Writer, clock: Clock, hearers: Hearers, *, namespace: str, service: str, secret: str
    ) -> None:
        self._writer, self._clock, self._hearers = writer, clock, hearers
        self._namespace, self._secret = namespace, secret
        self._names = (
            f"{service}.{namespace}.svc",
            f"{service}.{namespace}.svc.cluster.local",
            f"{service}.{namespace}",
        )

    async def look(self) -> HeldCertificates:
        """The certificate to show, renewed and published where that is due. May raise `ObjectConflict`."""
        held = await self._hold()
        await self._hearers.publish(b64encode(held.authorities.encode()).decode())
        return held

    async def _hold(self) -> HeldCertificates:
        try:
            found = await self._writer.get(SECRETS, self._namespace, self._secret)
        except ObjectMissing:
            fresh = renewed(None, self._names, self._clock.now())
            assert fresh is not None, "nothing held is always renewed"
            await self._writer.create(SECRETS, self._namespace, self._manifest(fresh))
            return fresh
        held = held_in(found.get("data") or {})
        fresh = renewed(held, self._names, self._clock.now())
        if fresh is None:
            assert held is not None, "what is not renewed is there"
            return held
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        patch = {"metadata": version, "data": _data(fresh)}
        await self._writer.merge(SECRETS, self._namespace, self._secret, patch)
        log.info("renewed", secret=self._secret)
        return fresh

    def _manifest(self, held: HeldCertificates) -> JsonObject:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self._secret, "namespace": self._namespace},
            "type": "Opaque",
            "data": _data(held),
        }


def held_in(data: Mapping[str, str]) -> HeldCertificates | None:
    """What a Secret holds; None when it was never filled."""
    if any(not data.get(name) for name in _FIELDS):
        return None
    try:
        return HeldCertificates(**{field: b64decode(data[name]).decode() for name, field in _FIELDS.items()})
    except ValueError:
        return None


def _data(held: HeldCertificates) -> dict[str, str]:
    return {name: b64encode(getattr(held, field).encode()).decode() for name, field in _FIELDS.items()}


__all__: Sequence[str] = (
    "CONFIGURATIONS",
    "DEFINED",
    "SECRETS",
    "Callers",
    "ObjectConflict",
    "CertificateKeeper",
    "held_in",
)
