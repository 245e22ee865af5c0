"""What a service could not decide about, so that it goes on without it."""

from events.event import Event


class SetAside(Event, frozen=True, kw_only=True, tag="SetAside.v1"):
    """A service failed on one workload, tree, node, card, pod or flavor, and leaves just that alone; one of them is named.

    It is tried again when the object changes, when what it depends on changes, or under other rules.
    """

    service: str
    workload: str = ""
    tree: str = ""
    """The root cohort, or the cluster queue that has none."""
    node: str = ""
    card: str = ""
    pod: str = ""
    """As `namespace/name`."""
    flavor: str = ""
    reason: str
    """What went wrong, in the words of the failure."""
    rules: str
    """The version of the rules that failed."""
