"""Where Kueue and kuelog came to different ends, and which of these differences are meant."""

from typing import Any

from tests.peers.worlds.drawn import World
from tests.peers.worlds.seen import Seen


def compared(world: World, theirs: list[Seen], ours: list[Seen]) -> list[str]:
    """The differences of the first step after which there is one that is not meant; what comes later follows from it."""
    for number, (there, here) in enumerate(zip(theirs, ours, strict=False)):
        found = list(_differences(there, here, ""))
        if found:
            return [f"world {world.seed} step {number}: {world.steps[number]}", *(f"    {one}" for one in found)]
    return []


def _differences(there: Any, here: Any, path: str) -> list[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        keys = sorted({*there, *here})
        return [line for key in keys for line in _differences(there.get(key), here.get(key), f"{path}/{key}")]
    return [] if there == here else [f"{path}: Kueue {there!r}, kuelog {here!r}"]
