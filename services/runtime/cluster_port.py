"""The port to Kubernetes: watching a kind of object, and writing objects."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec

from events.event import Millis
from events.json_object import JsonObject


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of object by its place on the API."""

    group: str = ""
    version: str = "v1"
    plural: str
    kind: str
    namespaced: bool = True
    namespace: str = ""
    """Where only those of one namespace are meant."""
    name: str = ""
    """Where only the one of this name is meant."""
    labels: str = ""
    """Where only those that a selector of labels picks are meant."""
    older: tuple[str, ...] = ()
    """Versions in which they may be watched as well where `version` is not served, the best first."""


NAMESPACES = Resource(plural="namespaces", kind="Namespace", namespaced=False)


class Listed(msgspec.Struct, frozen=True):
    """All objects that there are now: after a start, a lost connection, or 410 Gone."""

    objects: list[JsonObject]
    version: str = ""
    """The resourceVersion of the list: what is not in it was gone by then."""


class Changed(msgspec.Struct, frozen=True):
    """One object was added or modified."""

    object: JsonObject


class Vanished(msgspec.Struct, frozen=True):
    """One object was deleted; as it was last."""

    object: JsonObject


Sight: TypeAlias = Listed | Changed | Vanished


class ObjectConflict(Exception):
    """Somebody else has changed the object: read it again."""


class ObjectMissing(Exception):
    """There is no such object, or no such kind."""


class ObjectInvalid(Exception):
    """The API server refuses the object; its message says why."""


class ClusterUnavailable(Exception):
    """The API server can't be reached or refuses everything; try again after so many seconds."""

    def __init__(self, problem: str, retry_after: float = 1.0) -> None:
        super().__init__(f"{self.what}: {problem}")
        self.retry_after = retry_after

    what = "the Kubernetes API can't be reached"


class AccessRefused(ClusterUnavailable):
    """The API server does not authenticate or authorize us (401, 403); right after a start that may pass."""

    what = "the Kubernetes API refuses access"


class ListExpired(ClusterUnavailable):
    """The API server no longer has what was asked for (410): a page of an old list, or changes since an old version. List anew."""

    what = "the Kubernetes API has no longer what was asked for"


class Watches(msgspec.Struct):
    """How the watches of a reader go on."""

    lists: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    """How often all objects of a kind were listed, by kind and why: `start`, `expired` or `broken`."""
    heard: dict[str, Millis] = {}
    """By kind that is watched now, when anything was heard last."""


class Reader(Protocol):
    """Watches the objects of a cluster."""

    def watch(self, resource: Resource) -> AsyncIterator[Sight]:
        """All objects of a kind (`Listed`), then each change, for ever; `Listed` again after a gap."""
        ...


class Writer(Protocol):
    """Writes objects. Every call may raise `ObjectConflict`, `ObjectMissing`, `ObjectInvalid`, `ClusterUnavailable`."""

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """One object as it is now. Raises `ObjectMissing`."""
        ...

    async def create(self, resource: Resource, namespace: str, value: JsonObject) -> JsonObject:
        """A new object; one that is there already is an `ObjectConflict`."""
        ...

    async def merge(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        """A merge patch; with metadata.resourceVersion it holds only for that version."""
        ...

    async def apply(
        self, resource: Resource, namespace: str, value: JsonObject, *, manager: str, subresource: str = ""
    ) -> JsonObject:
        """A server-side apply with force: every field that is named belongs to the manager from then on.

        Fields that the manager named before and does not name now are removed, unless another manager owns them, too. With
        metadata.resourceVersion it holds only for that version.
        """
        ...

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str = "", at_once: bool = False
    ) -> None:
        """Take an object away; with a UID only that very one, and another of its name is an `ObjectConflict`.

        A pod that is deleted `at_once` is not waited for: its node is not asked any more.
        """
        ...


class RemoteCluster(Writer, Protocol):
    """A worker cluster, as long as it can be reached."""

    def watch(self, resource: Resource) -> AsyncGenerator[Sight]:
        """All objects of a kind (`Listed`), then each change, until the connection breaks. Raises `ClusterUnavailable`, `ObjectMissing`."""
        ...

    async def close(self) -> None:
        """Close the connection to the cluster."""
        ...


class Connector(Protocol):
    """Opens connections to worker clusters from kubeconfigs."""

    @property
    def namespace(self) -> str:
        """Kuelog's own, in which their kubeconfigs are."""
        ...

    def resolved(self, path: str) -> str:
        """Where the path of a kubeconfig file leads, symlinks followed. Raises `OSError`."""
        ...

    def read(self, path: str) -> str:
        """The text of a kubeconfig file. Raises `OSError`."""
        ...

    async def run(self, words: Sequence[str], variables: Mapping[str, str]) -> bytes:
        """What a program prints that gives credentials. Raises `ClusterUnavailable`."""
        ...

    async def connect(self, kubeconfig: str) -> RemoteCluster:
        """The cluster that a kubeconfig names. Raises `ClusterUnavailable`."""
        ...
