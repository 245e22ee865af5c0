"""The law of saved worlds: whoever begins in one has the world that was saved, also what follows from its tables."""

from projections.log_position import LogPosition
from projections.snapshot import tables_as_json, world_from_json
from projections.state_hash import tables
from projections.world import World

_EVERY = 16


class SavedWorlds:
    """Saves the world of a partition and begins in it, at every so many commits."""

    def __init__(self, world: World) -> None:
        self.broken: list[str] = []
        self._world, self._last = world, 0

    def hear(self, position: LogPosition) -> None:
        """A commit is folded."""
        if position.partition != self._world.partition or position.sequence < self._last + _EVERY:
            return
        self._last = position.sequence
        again = world_from_json(b"".join(tables_as_json(self._world)))
        here, saved = dict(tables(self._world)), dict(tables(again))
        for name in sorted({*here, *saved}):
            one, other = here.get(name, {}), saved.get(name, {})
            keys = sorted(key for key in {*one, *other} if one.get(key) != other.get(key))
            if keys:
                self.broken.append(
                    f"{position.partition}/{position.sequence} leads to a world that is another one when it is saved: "
                    f"{name} of {', '.join(keys)}"
                )
