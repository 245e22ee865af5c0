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
    """Whether a server is named by an address or a name, in lower case."""
    return _ADDRESS.fullmatch(server) is not None


def check_path(path: str) -> None:
    """Whether a kubeconfig file, symlinks resolved, may be read. Raises `KubeConfigRefused`."""
    if not path.startswith(f"{PATHS_BELOW}/") or ".." in path.split("/"):
        raise KubeConfigRefused(BAD, f"kubeconfig path is not under the allowed prefix: {PATHS_BELOW}")


def check_kubeconfig(text: str) -> None:
    """Whether a kubeconfig may be used. Raises `KubeConfigRefused`."""
    try:
        value = yaml_of(text)
    except Unreadable as problem:
        raise KubeConfigRefused(BAD, str(problem)) from problem
    if not is_object(value):
        raise KubeConfigRefused(BAD, "the kubeconfig is no mapping")
    for named in objects_at(value, "users"):
        user = object_at(named, "user")
        if user.get("tokenFile"):
            raise KubeConfigRefused(INSECURE, "tokenFile is not allowed")
    for named in objects_at(value, "clusters"):
        _check_cluster(str(named.get("name", "")), object_at(named, "cluster"))
    for named in objects_at(value, "users"):
        _check_user(object_at(named, "user"))


def _check_cluster(name: str, cluster: JsonMapping) -> None:
    if cluster.get("insecure-skip-tls-verify"):
        raise KubeConfigRefused(INSECURE, f"insecure TLS verification is not allowed for cluster {name}")
    if cluster.get("certificate-authority"):
        instead = "use certificate-authority-data"
        problem = f"certificate-authority file paths are not allowed, {instead} for cluster {name}"
        raise KubeConfigRefused(INSECURE, problem)
    if not cluster.get("server"):
        raise KubeConfigRefused(INSECURE, f"server URL is required for cluster {name}")
    if not is_trusted(str(cluster["server"])):
        raise KubeConfigRefused(INSECURE, "untrusted server endpoint")


def _check_user(user: JsonMapping) -> None:
    if user.get("username") or user.get("password"):
        raise KubeConfigRefused(INSECURE, "basic auth is not allowed")
    if user.get("exec"):
        raise KubeConfigRefused(INSECURE, "exec plugins are not allowed")
    if user.get("auth-provider"):
        raise KubeConfigRefused(INSECURE, "auth providers are not allowed")
    # Client certificates in files are as far from the Secret as a token in one.
    for field in ("client-certificate", "client-key"):
        if user.get(field):
            raise KubeConfigRefused(INSECURE, f"{field} file paths are not allowed, use {field}-data")
