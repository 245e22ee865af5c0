"""What gives access to one worker cluster: a kubeconfig in a Secret or a file, or the program of a ClusterProfile.

Rule: docs/rules/multikueue.md#kubeconfig, docs/rules/multikueue.md#cluster-profiles
"""

import base64
import binascii
from collections.abc import Callable
from typing import TypeAlias

import structlog

from events.event import Millis
from events.json_object import object_at
from events.multikueue import AccessProvider, KubeConfigPlace, MultiKueueClusterObserved
from services.multikueue.cluster_profile import (
    BAD_PROFILE,
    CLUSTER_PROFILES,
    ProfileAccess,
    access_by,
    credentials_in,
    kubeconfig_of,
)
from services.multikueue.kubeconfig import BAD, KubeConfigRefused, check_kubeconfig, check_path
from services.runtime.clock_port import Clock
from services.runtime.cluster_port import ClusterUnavailable, Connector, ObjectMissing, Resource, Writer

log = structlog.get_logger()

SECRETS = Resource(plural="secrets", kind="Secret")
_LOOKS_AGAIN: Millis = 5_000

_Providers: TypeAlias = tuple[AccessProvider, ...] | None
Access: TypeAlias = str | ProfileAccess
"""The text of a kubeconfig, or who gives one."""


class ClusterAccess:
    """What gives access to a worker cluster, as it was read last."""

    def __init__(self, cluster: str, home: Writer, connector: Connector, clock: Clock) -> None:
        self._cluster, self._home, self._connector, self._clock = cluster, home, connector, clock
        self._last: tuple[MultiKueueClusterObserved, _Providers, Access] | None = None
        """None where it may not be used."""

    async def read(self, found: MultiKueueClusterObserved, providers: _Providers) -> Access:
        """What there is now, which may be used; no providers where ClusterProfiles may not be. Raises `KubeConfigRefused` and `ClusterUnavailable`."""
        self._last = None
        loaded = await self._read(found, providers)
        self._last = found, providers, loaded
        return loaded

    async def look_after(self, changed: Callable[[], None]) -> None:
        """Tell when what was read is not what there is any more, or may not be used any more, until cancelled.

        Who was refused reads again by himself.
        """
        while True:
            await self._clock.sleep(_LOOKS_AGAIN)
            last = self._last
            if last is None:
                continue
            found, providers, before = last
            try:
                now = await self._read(found, providers)
            except KubeConfigRefused as refused:
                log.info(
                    "what gives access to it may not be used any more", cluster=self._cluster, problem=str(refused)
                )
                now = None
            except ClusterUnavailable as problem:
                log.info("what gives access to it is not read", cluster=self._cluster, problem=str(problem))
                continue
            if now != before and last is self._last:
                self._last = None
                changed()

    async def kubeconfig(self, loaded: Access) -> tuple[str, Millis | None]:
        """A kubeconfig that proves who asks, and when to ask for another. Raises `ClusterUnavailable` and `KubeConfigRefused`."""
        if isinstance(loaded, str):
            return loaded, None
        printed = await self._connector.run(loaded.words, loaded.variables)
        given = credentials_in(printed, loaded.provider)
        return kubeconfig_of(loaded, given), given.renewed_at(self._clock.now())

    async def _read(self, found: MultiKueueClusterObserved, providers: _Providers) -> Access:
        if found.profile:
            return await self._profile(found.profile, providers)
        if found.location_type is KubeConfigPlace.PATH:
            text = self._file(found.location)
        else:
            text = await self._secret(found.location)
        check_kubeconfig(text)
        return text

    def _file(self, location: str) -> str:
        try:
            path = self._connector.resolved(location)
            check_path(path)
            return self._connector.read(path)
        except OSError as problem:
            raise KubeConfigRefused(BAD, f"{location}: {problem.strerror}") from problem
        except UnicodeDecodeError as problem:
            raise KubeConfigRefused(BAD, f"{location} is no text") from problem

    async def _profile(self, name: str, providers: _Providers) -> ProfileAccess:
        if providers is None:
            problem = "MultiKueueClusterProfile feature gate is disabled"
            raise KubeConfigRefused("MultiKueueClusterProfileFeatureDisabled", problem)
        try:
            profile = await self._home.get(CLUSTER_PROFILES, self._connector.namespace, name)
        except ObjectMissing as problem:
            missing = f'{CLUSTER_PROFILES.kind}.{CLUSTER_PROFILES.group} "{name}" not found'
            raise KubeConfigRefused(BAD_PROFILE, missing) from problem
        return access_by(profile, providers)

    async def _secret(self, name: str) -> str:
        try:
            secret = await self._home.get(SECRETS, self._connector.namespace, name)
        except ObjectMissing as problem:
            raise KubeConfigRefused(BAD, f'Secret "{name}" not found') from problem
        data = object_at(secret, "data").get("kubeconfig")
        if not isinstance(data, str):
            raise KubeConfigRefused(BAD, f'key "kubeconfig" not found in secret "{name}"')
        try:
            return base64.b64decode(data, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as problem:
            raise KubeConfigRefused(BAD, f'key "kubeconfig" of secret "{name}" is no text in base64') from problem
