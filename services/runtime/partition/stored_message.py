"""Whether a stored message counts: not if it was skipped, nor if its author may not write it; a time too far ahead is cut.

Every reader of the log opens messages here, so that all of them fold the same.
"""

from typing import NamedTuple

from msgspec.structs import replace

from events.authors import why_not_commit, why_not_sighting
from events.codec import NotOurs, decode_commit, decode_sighting
from events.commit import Commit, Sighting
from events.event import Millis
from events.subjects import FACTS
from services.runtime.control_log import Control
from services.runtime.log_port import Entry
from services.runtime.partition.errors import MessageNotOurs


class Opened(NamedTuple):
    """A message that counts; `hurried` says why its time was cut, if it was."""

    message: Sighting | Commit
    hurried: str = ""
    cut: Millis = 0
    """By how many milliseconds."""


class Passed(NamedTuple):
    """A message that does not count: skipped by an operator, or not its author's to write."""

    author: str = ""
    why: str = ""
    """Empty where an operator had it skipped."""


def open_message(entry: Entry, control: Control) -> Opened | Passed:
    """The decoded message, or why it does not count. Raises `MessageNotOurs` when it can't be read."""
    if control.skips(entry):
        return Passed()
    try:
        message = decode_sighting(entry.data) if entry.stream == FACTS else decode_commit(entry.data)
    except NotOurs as problem:
        raise MessageNotOurs(stream=entry.stream, sequence=entry.sequence, problem=str(problem)) from problem
    if isinstance(message, Sighting):
        why = why_not_sighting(message, entry.subject)
    else:
        why = why_not_commit(message, entry.stream, entry.subject)
    if why:
        return Passed(message.author, why)
    latest = control.latest(entry.stored)
    if latest is None or message.at <= latest:
        return Opened(message)
    hurried = f"its time is {message.at - latest} ms later than any that the bus could have stored then"
    return Opened(replace(message, at=latest), hurried, message.at - latest)
