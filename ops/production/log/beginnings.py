"""Whether every service that starts anew finds a saved world behind a part of a stream that is to go."""

from collections.abc import Sequence

from ops.production.log.rolling import StillNeeded
from services.runtime.shelf_port import Shelf


async def check_beginnings(shelf: Shelf, keys: Sequence[str], stream: str, upto: int) -> None:
    """The newest of every key has to lie behind what goes. Raises `StillNeeded`, `LogUnavailable`."""
    for key in keys:
        labels = await shelf.labels(key)
        # The message that a beginning names has to stand, or nobody could hold the beginning against the log.
        if not labels or labels[0].upto.get(stream, 0) <= upto:
            raise StillNeeded(stream, f"no saved world of {key} goes beyond {upto} yet")
