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
        case ("positions", path, name, "owners", _) if one.here is None and _is_of_what_serves(
            here["positions"][path][name]["owners"]
        ):
            return "owners of groups"
        case _:
            return ""


def _is_of_what_serves(owners: dict[str, list[str]]) -> bool:
    """Whether owners are another object than pods."""
    return any(kind != "Pod" for _, kind in owners.values())


def _is_stopped(path: list[str], here: Seen) -> bool:
    match path:
        case ["namespaces", _, "localqueues", name, _]:
            return here["doors"][name]["conditions"]["Active"][1] == "Stopped"
        case _:
            return False
