"""What can be wrong with a lane that was read: each named for what was found, and saying what to do."""


class ChainBroken(Exception):
    """A commit does not follow the one before it: the stored log contradicts itself, so nothing is decided on it."""

    def __init__(self, *, stream: str, sequence: int, expected: str, found: str) -> None:
        super().__init__(
            f"{stream} is broken at sequence {sequence}: the commit names {found[:12]}… as its predecessor, but "
            f"{expected[:12]}… is stored there. Restore the stream from its archive before anything is admitted"
        )
        self.stream, self.sequence, self.expected, self.found = stream, sequence, expected, found


class MessageNotOurs(Exception):
    """A stored message can't be read; the fold waits until it is readable or skipped on record."""

    def __init__(self, *, stream: str, sequence: int, problem: str) -> None:
        super().__init__(f"{stream} sequence {sequence}: {problem}")
        self.stream, self.sequence = stream, sequence
