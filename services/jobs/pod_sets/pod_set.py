"""One pod set as a job describes it, and what is injected when the job starts."""

from collections.abc import Container
from enum import StrEnum

import msgspec

from events.json_object import JsonObject
from events.json_path import Location
from services.jobs.pod_sets.updates import Update


class InjectionForm(StrEnum):
    """How the place that takes what is injected is built."""

    TEMPLATE = "template"
    """A pod template: what is injected is merged into it."""
    FLAT = "flat"
    """Labels, annotations, node selector and tolerations side by side, beside what the owner wrote there."""
    INFO = "info"
    """The same, made for what is injected and for nothing else."""


class PodIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The labels in which the pods of a pod set bear their ranks; empty where they have none."""

    label: str = ""
    sub_group_label: str = ""
    """Which of several equal parts a pod belongs to; its index counts within that part."""
    sub_group_count: int = 0


class Pods(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one shape in a job, and where in it their template is."""

    name: str
    count: int
    template: JsonObject
    at: Location
    """The place that takes what is injected."""
    minimum: int | None = None
    replicas: int = 1
    """Of how many equal parts the count is made."""
    form: InjectionForm = InjectionForm.TEMPLATE
    implied: JsonObject | None = None
    """The default template, for a job that has none."""
    index: PodIndex = PodIndex()
    former: str = ""
    """What rules before 27 have called it; empty where that is the same."""

    def known_as(self, names: Container[str]) -> str:
        """Its name, or the former one where that is among these: what was reported under it goes on under it."""
        return self.former if self.former and self.former in names else self.name


class Original(msgspec.Struct, frozen=True, kw_only=True):
    """What a pod set asked for itself, where something is injected."""

    name: str
    count: int
    node_selector: dict[str, str] = {}
    tolerations: tuple[JsonObject, ...] = ()
    annotations: dict[str, str] = {}
    """The annotations that steer which cards the pods get."""
    elastic: bool = False
    """How many pods there are is for the job to say, also while it runs."""
    named: bool = False
    """The job names its Workload, which may say less of nodes than the job does."""
    unconstrained: bool = False
    """Its own annotation says whether its pods may lie anywhere in a topology."""


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """What one pod set gets at the start, beside what it asked for itself."""

    count: int
    """How many pods were admitted; with partial admission fewer than requested."""
    original: Original
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[JsonObject, ...] = ()
    updates: tuple[Update, ...] = ()
    """What admission checks add to all of that."""
    gated: bool = False
    """Each pod waits at the gate for cards (`services.jobs.pod_sets.scheduling_gates`), because they have different cards."""
    placed: bool = False
    """Each pod waits at Kueue's gate for topologies, because they go to different domains."""
    sliced: bool = False
    """Each pod waits at Kueue's gate for elastic jobs until a slice has room for it."""
