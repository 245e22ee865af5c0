"""What can be wrong with a message of a partition: each error named for what was found; the message says what to do.

None of them ends a service: the partition halts there, reports it, and goes on when the message is skipped on record.
"""


class MessageHalts(Exception):
    """A message that the fold can't go past until something is done about it."""

    def __init__(self, message: str, *, stream: str, sequence: int) -> None:
        super().__init__(message)
        self.stream, self.sequence = stream, sequence


class ChainBroken(MessageHalts):
    """A commit does not follow the one before it: the stored log contradicts itself, so nothing is decided on it."""

    def __init__(self, *, stream: str, sequence: int, expected: str, found: str) -> None:
        message = (
            f"{stream} is broken at sequence {sequence}: the commit names {found[:12]}… as its predecessor, but "
            f"{expected[:12]}… is stored there. If the log lost messages, restore the stream from its archive; if this "
            f"message is foreign, {_skip(stream, sequence)}"
        )
        super().__init__(message, stream=stream, sequence=sequence)
        self.expected, self.found = expected, found


class InputsWrong(MessageHalts):
    """A commit names inputs that its author can't have folded."""

    def __init__(self, *, stream: str, sequence: int, problem: str) -> None:
        message = f"{stream} sequence {sequence} {problem}; if it does not come, {_skip(stream, sequence)}"
        super().__init__(message, stream=stream, sequence=sequence)


class MessageNotOurs(MessageHalts):
    """A stored message can't be read; the fold waits until it is readable or skipped on record."""

    def __init__(self, *, stream: str, sequence: int, problem: str) -> None:
        super().__init__(f"{stream} sequence {sequence}: {problem}", stream=stream, sequence=sequence)


class FoldFailed(MessageHalts):
    """A message can be read, and folding it fails: nothing of it is folded."""

    def __init__(self, *, stream: str, sequence: int, problem: BaseException) -> None:
        message = (
            f"{stream} sequence {sequence} can't be folded: {type(problem).__name__}: {str(problem)[:_SHOWN]}. "
            f"Upgrade, or {_skip(stream, sequence)}"
        )
        super().__init__(message, stream=stream, sequence=sequence)


def _skip(stream: str, sequence: int) -> str:
    return f"have it skipped on record with `kuelog log quarantine {stream} {sequence}`"


_SHOWN = 200
