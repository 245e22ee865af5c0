"""The nouns of kueuectl: under which names they go, and where they are on the API."""

from collections.abc import Callable

import msgspec
import typer

from services.runtime.cluster_port import NAMESPACES, Resource

GROUP, VERSION = "kueue.x-k8s.io", "v1beta2"


class Noun(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that the commands know."""

    name: str
    aliases: tuple[str, ...]
    resource: Resource

    @property
    def full(self) -> str:
        """The name that kubectl prints when it reports a change: kind and group."""
        return f"{self.name}.{self.resource.group}" if self.resource.group else self.name

    @property
    def api_version(self) -> str:
        """As objects of the kind say it."""
        return f"{self.resource.group}/{self.resource.version}".removeprefix("/")


def named_by(app: typer.Typer, noun: Noun, command: Callable[..., None]) -> None:
    """Have a command answer to a noun and, unlisted, to its other names."""
    app.command(name=noun.name)(command)
    for alias in noun.aliases:
        app.command(name=alias, hidden=True)(command)


def _noun(kind: str, plural: str, *aliases: str, namespaced: bool = False) -> Noun:
    resource = Resource(group=GROUP, version=VERSION, plural=plural, kind=kind, namespaced=namespaced)
    return Noun(name=kind.lower(), aliases=(plural, *aliases), resource=resource)


CLUSTER_QUEUE = _noun("ClusterQueue", "clusterqueues", "cq")
LOCAL_QUEUE = _noun("LocalQueue", "localqueues", "lq", namespaced=True)
WORKLOAD = _noun("Workload", "workloads", "wl", "kwl", "kueueworkload", "kueueworkloads", namespaced=True)
RESOURCE_FLAVOR = _noun("ResourceFlavor", "resourceflavors", "rf", "flavor")
NOUNS = (CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD, RESOURCE_FLAVOR)
POD = Noun(name="pod", aliases=("pods", "po"), resource=Resource(plural="pods", kind="Pod"))
DEPLOYMENT = Noun(
    name="deployment",
    aliases=("deployments",),
    resource=Resource(group="apps", plural="deployments", kind="Deployment"),
)
NAMESPACE = Noun(
    name="namespace",
    aliases=("namespaces", "ns"),
    resource=NAMESPACES,
)
