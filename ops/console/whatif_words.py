"""What is said about what-ifs: between console and worker, and to people whose question can't be played."""

import msgspec

from events.json_object import JsonObject

AT_ONCE = 2
"""So many are played at once."""


class TooManyRuns(Exception):
    """As many what-ifs are played as may be: in all, or of one person who is known."""

    def __init__(self, *, yours: bool) -> None:
        instead = "wait for it, or cancel it" if yours else "wait for one of them"
        played = "a what-if of yours is" if yours else f"{AT_ONCE} what-ifs are"
        super().__init__(f"{played} being played: {instead}")


class NotRunHere(Exception):
    """This console can't run what-ifs."""

    def __init__(self) -> None:
        super().__init__("this console knows no address of the bus that a what-if could read: use `kuelog whatif`")


class AskedWhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, in the words of `kuelog whatif`."""

    at: str = ""
    settings: tuple[str, ...] = msgspec.field(default=(), name="set")
    removed: tuple[str, ...] = msgspec.field(default=(), name="remove")
    more: tuple[str, ...] = ()


class Errand(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is sent."""

    nats: str
    archive: str
    asked: AskedWhatIf


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of what it says."""

    progress: dict[str, tuple[int, int]] = {}
    """By run, how many happenings of how many are over."""
    result: JsonObject | None = None
    problem: str = ""
