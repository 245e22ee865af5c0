"""Which differences of what visibility APIs answer are meant."""

from tests.peers.worlds.difference import Difference
from tests.peers.worlds.seen import Seen


def name_of_position(one: Difference, here: Seen) -> str:
    """The name of a difference of positions that is meant."""
    match one.path:
        case ("positions", path, "status" | "reason" | "code" | "message") if one.here is None and _is_stopped(
            path.split("/"), here
        ):
            return "stopped is not there"
        case _:
            return ""


def _is_stopped(path: list[str], here: Seen) -> bool:
    match path:
        case ["namespaces", _, "localqueues", name, _]:
            return here["doors"][name]["conditions"]["Active"][1] == "Stopped"
        case _:
            return False
