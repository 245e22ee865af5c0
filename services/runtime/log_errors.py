"""Errors of the log, each named for what happened; the message says what to do."""


class LogMovedOn(Exception):
    """Another author appended first. Fold its commit and decide again."""

    def __init__(self, *, stream: str, base: int) -> None:
        super().__init__(f"{stream} does not end at {base} any more: fold on and decide again")
        self.stream, self.base = stream, base


class LogUnavailable(Exception):
    """The bus can't be reached, or does not answer. Nothing is decided until it does."""

    what = "can't be reached"
    then = "Nothing is admitted until the bus answers again"

    def __init__(self, *, stream: str, problem: str) -> None:
        super().__init__(f"{stream} {self.what}: {problem}. {self.then}")
        self.stream, self.problem = stream, problem


class LogFull(LogUnavailable):
    """The stream has reached its size limit; the disk of the bus may have room."""

    what = "takes nothing"

    def __init__(self, *, stream: str) -> None:
        super().__init__(stream=stream, problem="it is full; raise its max_bytes")


class DiskFull(LogUnavailable):
    """The bus answers, but can't write: its disk is full, or as good as that. The stream's own limit is not in the way."""

    what = "takes nothing"

    def __init__(self, *, stream: str, problem: str) -> None:
        super().__init__(
            stream=stream,
            problem=f"the disk of the bus is full ({problem}); free space on it, and start a bus anew that still does not store",
        )


class NotAllowed(LogUnavailable):
    """The bus denies this user what was asked. It is retried all the same, because permissions may change."""

    what = "is not this user's to use so"
    then = "Connect as the user of the bus who may, or give this one the right; docs/security.md says who may what"

    def __init__(self, *, stream: str, subject: str) -> None:
        super().__init__(stream=stream, problem=f"it may not publish to {subject}")
        self.subject = subject


class LogGap(Exception):
    """A message is missing in the middle. Nothing is decided on a log with a hole."""

    def __init__(self, *, stream: str, expected: int, found: int) -> None:
        super().__init__(
            f"{stream} has a gap: expected sequence {expected}, found {found}. Restore it from its archive or a replica"
        )
        self.stream, self.expected, self.found = stream, expected, found


class LogRolled(LogGap):
    """The next messages were removed when the stream was rolled: a reader that needs them begins at a later saved world."""

    def __init__(self, *, stream: str, expected: int, first: int) -> None:
        super().__init__(stream=stream, expected=expected, found=first)
        self.args = (
            f"{stream} begins at sequence {first}: {expected} was rolled and removed. A replica goes on at a saved world that "
            "lies behind that; the archive has all of it",
        )


class LogRegressed(Exception):
    """The log has lost its tail, or its content differs from what a witness has signed."""

    def __init__(self, *, stream: str, witnessed: int, found: int, problem: str) -> None:
        super().__init__(
            f"{stream} {problem}: witnessed up to sequence {witnessed}, found {found}. Nothing is admitted; restore the "
            "stream from its archive or a replica, or accept the loss on record with `kuelog log accept-loss`"
        )
        self.stream, self.witnessed, self.found = stream, witnessed, found


class TailLost(LogRegressed):
    """The log ends before what was read of it here, or holds something else there."""

    def __init__(self, *, stream: str, read: int, found: int, problem: str = "has lost its tail") -> None:
        Exception.__init__(
            self,
            f"LogRegressed: {stream} {problem}: read here up to sequence {read}, and it ends at {found}. Nothing is decided "
            "here any more; `kuelog restore` brings back a backup, a start of this service goes on from what is there",
        )
        self.stream, self.witnessed, self.found = stream, read, found


class UnsafeStream(Exception):
    """An existing stream is configured so that the log could lose or change what it holds."""

    def __init__(self, *, stream: str, field: str, found: str, wanted: str) -> None:
        super().__init__(
            f"stream {stream}: {field} is {found}, must be {wanted}; change it before kuelog uses the stream"
        )
        self.stream, self.field, self.found, self.wanted = stream, field, found, wanted
