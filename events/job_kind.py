"""A kind of job as data: where in its objects the pods, the switch and the state are.

Paths are field names with dots between; `*` stands for every item of a list or map, `conditions[Complete]` for the item
of a list whose type is `Complete`.
"""

from events.event import Value


class Factor(Value, frozen=True, kw_only=True):
    """A number that a count of pods is multiplied with; `cap` is another number that it never exceeds."""

    path: str
    default: int = 1
    cap: str = ""


class PodsAt(Value, frozen=True, kw_only=True):
    """Where pods of one shape are described. Paths other than `at` begin there; `name_at` counts where `name` is empty."""

    at: str = "spec"
    template: str = "template"
    name: str = ""
    name_at: str = ""
    count: tuple[Factor, ...] = ()
    pod_index_label: str = ""
    """The label in which a pod bears its rank; empty where pods have none."""
    sub_group_index_label: str = ""
    """The label that says which of several equal parts a pod belongs to, with its rank among those of that part alone.

    There are as many parts as the first number of `count` says."""


class Sign(Value, frozen=True, kw_only=True):
    """Something that shows how a job stands: a field with one of these values."""

    at: str
    values: tuple[str, ...] = ("True",)


class Ending(Value, frozen=True, kw_only=True):
    """How a job shows that it has ended."""

    sign: Sign
    succeeded: bool = False
    message: str = ""
    """The path of the message about it."""
    says: str = ""
    """What is said about it where nothing is at that path."""
    unless: Sign | None = None
    """What shows that it has not ended so."""


class JobKind(Value, frozen=True, kw_only=True):
    """One kind of job."""

    group: str
    versions: tuple[str, ...]
    """API versions that can be read, the preferred one first."""
    kind: str
    plural: str
    key: str = ""
    """Its kind in the keys of objects (`kind/namespace/name`), where the plain kind would be ambiguous."""
    pods: tuple[PodsAt, ...] = ()
    reader: str = ""
    """What finds the pods, where paths can't say it."""
    suspend: str = "spec.suspend"
    priority_class: str = ""
    """Where the name of a PriorityClass is, besides in the pod templates."""
    endings: tuple[Ending, ...] = ()
    stopped: Sign | None = None
    """What the job's controller shows once the job has stopped."""
    active: tuple[str, ...] = ()
    """Numbers that are all zero when nothing of it runs."""
    ready: Sign | None = None
    replicas: str = ""
    """Where the ready and succeeded replicas of each pod set are counted."""
    counter: str = ""
    """What reads ready and reclaimable pods, where paths can't say it."""

    @property
    def name(self) -> str:
        """The name in a configuration file, such as `batch/job`."""
        return f"{self.group}/{self.kind.lower()}" if self.group else self.kind.lower()

    @property
    def place(self) -> str:
        """Its kind in the keys of objects (`kind/namespace/name`)."""
        return self.key or self.kind
