"""Whether a kubeconfig may be used for a worker cluster: nothing in it may read a file, run a program, or skip proof of who answers.

Rule: docs/rules/multikueue.md#kubeconfig
"""

import re

from events.bounded_yaml import Unreadable, yaml_of
from events.json_object import JsonMapping, is_object, object_at, objects_at

BAD, INSECURE = "BadKubeConfig", "InsecureKubeConfig"
PATHS_BELOW = "/etc/multikueue/kubeconfigs"
"""Where kubeconfig files may be."""
_ADDRESS = re.compile(r"https?://(\[[0-9a-fA-F:]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)(:[0-9]+)?(/.*)?")


class KubeConfigRefused(Exception):
    """A worker cluster's kubeconfig can't be had or may not be used; `reason` is that of the condition Active."""

    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason


def is_trusted(server: str) -> bool:
    """Whether a server is named by an address or a name."""
    return _ADDRESS.fullmatch(server.lower()) is not None


def check_path(path: str) -> None:
    """Whether a kubeconfig file, symlinks resolved, may be read. Raises `KubeConfigRefused`."""
    if not path.startswith(f"{PATHS_BELOW}/") or ".." in path.split("/"):
        raise KubeConfigRefused(BAD, f"kubeconfig path is not under the allowed prefix: {PATHS_BELOW}")


def check_kubeconfig(text: str) -> None:
    """Whether a kubeconfig may be used. Raises `KubeConfigRefused`."""
    try:
        value = yaml_of(text)
    except Unreadable as problem:
        raise _refused(f"failed to parse kubeconfig(apiconfig): {problem}") from problem
    if value is None:
        raise _refused("invalid configuration: no configuration has been provided")
    if not is_object(value):
        raise _refused("failed to parse kubeconfig(apiconfig): it is no mapping")
    if any(one.get("tokenFile") for one in _named(value, "user").values()):
        raise _refused("tokenFile is not allowed")
    for name, each in _named(value, "cluster").items():
        _check_cluster(name, each)
    cluster, user = in_use(value)
    if not is_trusted(str(cluster["server"])):
        raise _refused("untrusted server endpoint")
    _check_user(user)


def in_use(kubeconfig: JsonMapping) -> tuple[JsonMapping, JsonMapping]:
    """The cluster and the user of the current context; one that names no user is nobody in particular. Raises `KubeConfigRefused`."""
    clusters, users = _named(kubeconfig, "cluster"), _named(kubeconfig, "user")
    name = str(kubeconfig.get("current-context") or "")
    context = _named(kubeconfig, "context").get(name)
    if context is None:
        raise _refused(f'invalid configuration: there is no context "{name}", which is to be the current one')
    cluster, user = (str(context.get(part) or "") for part in ("cluster", "user"))
    if cluster not in clusters:
        raise _refused(f'invalid configuration: there is no cluster "{cluster}", that of context "{name}"')
    if user and user not in users:
        raise _refused(f'invalid configuration: there is no user "{user}", that of context "{name}"')
    return clusters[cluster], users.get(user, {})


def _named(kubeconfig: JsonMapping, what: str) -> dict[str, JsonMapping]:
    return {str(one.get("name")): object_at(one, what) for one in objects_at(kubeconfig, f"{what}s")}


def _check_cluster(name: str, cluster: JsonMapping) -> None:
    if cluster.get("insecure-skip-tls-verify"):
        raise _refused(f"insecure TLS verification is not allowed for cluster {name}")
    if cluster.get("certificate-authority"):
        instead = "use certificate-authority-data"
        raise _refused(f"certificate-authority file paths are not allowed, {instead} for cluster {name}")
    if not cluster.get("server"):
        raise _refused(f"server URL is required for cluster {name}")


def _check_user(user: JsonMapping) -> None:
    if user.get("username") or user.get("password"):
        raise _refused("basic auth is not allowed")
    if user.get("exec"):
        raise _refused("exec plugins are not allowed")
    if user.get("auth-provider"):
        raise _refused("auth providers are not allowed")
    # Client certificates in files are as far from the Secret as a token in one.
    for field in ("client-certificate", "client-key"):
        if user.get(field):
            raise _refused(f"{field} file paths are not allowed, use {field}-data")


def _refused(problem: str) -> KubeConfigRefused:
    return KubeConfigRefused(INSECURE, problem)
