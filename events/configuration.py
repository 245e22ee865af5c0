"""The base of facts about objects that administrators set up: each describes one object as it stands in the cluster.

What has to know these objects by name, as the log, answers and Events do, knows them from here.
"""

from typing import ClassVar

from events.event import Event

KUEUE_API = "kueue.x-k8s.io/v1beta2"


class ConfigurationObserved(Event, frozen=True, kw_only=True):
    """An object stands so in the cluster."""

    kind: ClassVar[str]
    api_version: ClassVar[str] = KUEUE_API

    @property
    def place(self) -> str:
        """The object as `kind/namespace/name`; objects of the whole cluster have an empty namespace."""
        raise NotImplementedError


class ClusterObjectObserved(ConfigurationObserved, frozen=True, kw_only=True):
    """An object of the whole cluster."""

    name: str

    @property
    def place(self) -> str:
        """The object as `kind//name`."""
        return f"{self.kind}//{self.name}"


class NamespacedObjectObserved(ConfigurationObserved, frozen=True, kw_only=True):
    """An object of a namespace."""

    namespace: str
    name: str

    @property
    def place(self) -> str:
        """The object as `kind/namespace/name`."""
        return f"{self.kind}/{self.namespace}/{self.name}"
