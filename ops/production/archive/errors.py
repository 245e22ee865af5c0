"""What an audit can't go on with: each named for what was found, and saying what to do."""

from ops.production.archive.finding import AuditFinding
from services.runtime.log_errors import LogGap, LogRegressed, LogUnavailable
from services.runtime.partition.errors import MessageHalts


class FolderUnreadable(Exception):
    """A folder of the audit is not there, or its storage does not answer."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"{url}: {problem}")
        self.url, self.problem = url, problem


class ArchiveDamaged(Exception):
    """An archive does not hold what it says; nothing is made of it."""

    def __init__(self, url: str, finding: AuditFinding) -> None:
        super().__init__(
            f"the archive {url} is damaged: {finding.place} {finding.detail}. `kuelog audit verify --archive {url}` names "
            "everything that is wrong; restore it from a copy"
        )
        self.url, self.finding = url, finding


class ArchiveOfAnotherLog(Exception):
    """An archive and a log do not belong together."""

    def __init__(self, url: str, stream: str, sequence: int) -> None:
        super().__init__(
            f"the archive {url} holds another message at {stream} {sequence} than the log: it belongs to another log; name "
            "another folder"
        )
        self.url, self.stream, self.sequence = url, stream, sequence


class ArchiveGoesFurther(Exception):
    """A stream holds less than its archive: it has lost its end, or was put back to an older state."""

    def __init__(self, url: str, stream: str, archived: int, found: int) -> None:
        super().__init__(
            f"{stream} holds less than its archive: the archive {url} goes up to {archived}, the log only to {found}. Restore "
            "the log, or ask the archive alone: --archive without --data and --nats"
        )
        self.url, self.stream, self.archived, self.found = url, stream, archived, found


class BackupRefused(Exception):
    """A backup can't be made or restored as things are, and what to do."""


class LogDiffers(Exception):
    """A log is not what was signed: it is neither archived nor rolled away."""

    def __init__(self, finding: AuditFinding) -> None:
        super().__init__(
            f"{finding.place} {finding.detail}: nothing is archived. `kuelog audit verify` names everything"
        )
        self.finding = finding


class ArchiveNeverGrows(Exception):
    """An archive was named where something is to be entered or awaited."""

    def __init__(self, url: str) -> None:
        super().__init__(
            f"nothing is entered in the archive {url}, nor does it grow: name its log with --data or --nats"
        )
        self.url = url


class HistoryIncomplete(Exception):
    """A stream begins behind what was read before it, and nothing that was named holds what is between."""

    def __init__(self, stream: str, first: int, begins: int, archive: str) -> None:
        missing = f"{first}–{begins - 1}" if begins - 1 > first else f"{first}"
        before = f"the archive {archive} ends at {first - 1}, the log" if archive else "the log"
        remedy = "an archive that goes that far" if archive else "its archive"
        super().__init__(
            f"{stream} has a gap: {missing} can't be read, {before} goes on at {begins}. Name {remedy} with --archive, or "
            "restore the stream from a replica"
        )
        self.stream, self.first, self.begins = stream, first, begins


class NotProvable(Exception):
    """There is no proof for a message or between two checkpoints; the sequence is 0 where none can be named."""

    def __init__(self, stream: str, sequence: int, problem: str) -> None:
        super().__init__(f"{stream}{f' {sequence}' if sequence else ''} can't be proved: {problem}")
        self.stream, self.sequence = stream, sequence


class StampRefused(Exception):
    """There is no time stamp, or it does not count. The message says why."""


class QueryRefused(Exception):
    """DuckDB can't make sense of a query."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem}\n(there are the views messages, commits, facts and events)")


LOG_UNREADABLE: tuple[type[Exception], ...] = (
    LogUnavailable,
    LogGap,
    LogRegressed,
    MessageHalts,
    ArchiveDamaged,
    ArchiveGoesFurther,
    ArchiveOfAnotherLog,
    FolderUnreadable,
    HistoryIncomplete,
)
"""Why a log and its archive can't be read as they are; each says what to do."""
