"""How a worker cluster is reached by its ClusterProfile: which program of the configuration gives access, and what it is told and says.

Rule: docs/rules/multikueue.md#cluster-profiles
"""

import base64
import binascii
from collections.abc import Sequence

import msgspec

from events.event import Millis
from events.json_object import JsonMapping, JsonObject, is_object, object_at, objects_at
from events.multikueue import AccessProvider
from events.timestamp import BadTimestamp, parse_timestamp
from services.multikueue.kubeconfig import KubeConfigRefused, is_trusted
from services.runtime.cluster_port import ClusterUnavailable, Resource

CLUSTER_PROFILES = Resource(
    group="multicluster.x-k8s.io", version="v1alpha1", plural="clusterprofiles", kind="ClusterProfile"
)
GATE = "MultiKueueClusterProfile"
"""The gate by which clusters are named by ClusterProfiles."""
BAD_PROFILE, BAD_ACCESS = "BadClusterProfile", "BadRestConfig"
EXEC_INFO = "KUBERNETES_EXEC_INFO"
_CONFIG = "client.authentication.k8s.io/exec"
"""The extension of a cluster whose content its program is told."""
_TOLD = ("server", "certificate-authority-data", "proxy-url")
_KIND = "ExecCredential"
_EARLY: Millis = 60_000
_LEAST: Millis = 5_000


class ProfileAccess(msgspec.Struct, frozen=True):
    """A cluster and the program that gives access to it."""

    provider: AccessProvider
    cluster: JsonMapping
    """As its ClusterProfile describes it, with the fields of a kubeconfig's cluster."""

    @property
    def words(self) -> tuple[str, ...]:
        """The program with its arguments."""
        return self.provider.command, *self.provider.args

    @property
    def variables(self) -> dict[str, str]:
        """What it gets besides the variables of the service."""
        spec: JsonObject = {"interactive": False}
        if self.provider.cluster_info:
            extensions = {str(one.get("name")): one.get("extension") for one in objects_at(self.cluster, "extensions")}
            config = {"config": extensions[_CONFIG]} if _CONFIG in extensions else {}
            spec["cluster"] = {**{name: self.cluster[name] for name in _TOLD if name in self.cluster}, **config}
        info = {"apiVersion": self.provider.api_version, "kind": _KIND, "spec": spec}
        return {**self.provider.env, EXEC_INFO: msgspec.json.encode(info).decode()}


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What proves to a cluster who asks."""

    token: str = ""
    certificate: str = ""
    key: str = ""
    until: Millis | None = None
    """When they expire; None where that is not said."""

    def renewed_at(self, now: Millis) -> Millis | None:
        """When they are asked for anew: a minute before they expire, but not at once again."""
        return None if self.until is None else max(self.until - _EARLY, now + _LEAST)


def access_by(profile: JsonMapping, providers: Sequence[AccessProvider]) -> ProfileAccess:
    """Who gives access to the cluster of a ClusterProfile. Raises `KubeConfigRefused`."""
    if not providers:
        raise KubeConfigRefused(BAD_PROFILE, "no access provider configured")
    offered = {
        str(one.get("name")): object_at(one, "cluster")
        for field in ("credentialProviders", "accessProviders")
        for one in objects_at(profile, "status", field)
    }
    provider = next((one for one in providers if one.name in offered), None)
    if provider is None:
        name = object_at(profile, "metadata").get("name", "")
        raise KubeConfigRefused(BAD_PROFILE, f'no matching cluster accessor found for cluster profile "{name}"')
    cluster = offered[provider.name]
    if not is_trusted(str(cluster.get("server", ""))):
        raise KubeConfigRefused(BAD_ACCESS, "untrusted server endpoint")
    return ProfileAccess(provider, cluster)


def credentials_in(printed: bytes, provider: AccessProvider) -> Credentials:
    """What a program has printed. Raises `ClusterUnavailable`."""
    try:
        found = msgspec.json.decode(printed)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise _unusable(provider, f"decoding stdout: {problem}") from problem
    if not is_object(found) or (found.get("apiVersion"), found.get("kind")) != (provider.api_version, _KIND):
        raise _unusable(provider, f"plugin returned something else than an {_KIND} of {provider.api_version}")
    status = object_at(found, "status")
    token, certificate, key = (
        str(status.get(name) or "") for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if not token and not (certificate and key):
        raise _unusable(provider, "plugin didn't return a token or cert/key pair")
    expires = status.get("expirationTimestamp")
    try:
        until = parse_timestamp(str(expires)) if expires else None
    except BadTimestamp as problem:
        raise _unusable(provider, str(problem)) from problem
    return Credentials(token=token, certificate=certificate, key=key, until=until)


def _unusable(provider: AccessProvider, what: str) -> ClusterUnavailable:
    return ClusterUnavailable(f"getting credentials: exec: executable {provider.command}: {what}")


def kubeconfig_of(access: ProfileAccess, given: Credentials) -> str:
    """A kubeconfig of the cluster with what proves who asks. Raises `KubeConfigRefused`."""
    authority = access.cluster.get("certificate-authority-data")
    try:
        base64.b64decode(str(authority or ""), validate=True)
    except binascii.Error as problem:
        raise KubeConfigRefused(BAD_ACCESS, "certificate-authority-data is no text in base64") from problem
    cluster = {name: access.cluster[name] for name in _TOLD if access.cluster.get(name)}
    user: JsonObject = {"token": given.token} if given.token else {}
    if given.certificate and given.key:
        user["client-certificate-data"] = base64.b64encode(given.certificate.encode()).decode()
        user["client-key-data"] = base64.b64encode(given.key.encode()).decode()
    context = {"cluster": "worker", "user": "manager"}
    value = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "worker", "cluster": cluster}],
        "users": [{"name": "manager", "user": user}],
        "contexts": [{"name": "worker", "context": context}],
        "current-context": "worker",
    }
    return msgspec.json.encode(value).decode()
