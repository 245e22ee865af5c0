"""How a workload changes its size while its pods run (docs/rules/elastic.md)."""

import msgspec

from events.pod_set import PodSet


class Resizing(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A change of size that is under way; all that stay as they are hold the same value."""

    wanted: tuple[PodSet, ...] = ()
    """The pods that its elastic job asks for by now, where the queue manager has not decided about that yet."""
    continues: bool = False
    """It has taken the place of a slice whose pods run: they run on, though it may not be admitted yet."""
    shrunk: bool = False
    """It has become smaller since its domains were assigned: the pods that are left may lie in others than in the first."""
