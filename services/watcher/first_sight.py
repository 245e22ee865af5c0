"""What a watcher has of a kind when it begins to watch it."""

from collections.abc import AsyncIterator, Mapping

import msgspec

from projections.object_versions import KnownVersion
from services.runtime.cluster_port import Resource, Sight

Begun = tuple[AsyncIterator[Sight], Resource]


class FirstSight(msgspec.Struct, frozen=True):
    """A kind that is watched from now on."""

    sights: AsyncIterator[Sight]
    """What comes after the first sight."""
    sight: Sight | None
    """The first list; None when the kind is not installed, or did not come in time."""
    known: Mapping[str, KnownVersion]
    """The versions that were reported before it was asked for."""
