"""What an audit can't go on with: each named for what was found, and saying what to do."""

from ops.audit.finding import Finding


class FolderUnreadable(Exception):
    """A folder of the audit is not there, or its storage does not answer."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"{url}: {problem}")
        self.url, self.problem = url, problem


class ArchiveDamaged(Exception):
    """An archive does not hold what it says; nothing is made of it."""

    def __init__(self, url: str, finding: Finding) -> None:
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


class NotProvable(Exception):
    """There is no proof for a message."""

    def __init__(self, stream: str, sequence: int, problem: str) -> None:
        super().__init__(f"{stream} {sequence} can't be proved: {problem}")
        self.stream, self.sequence = stream, sequence


class QueryRefused(Exception):
    """DuckDB can't make sense of a query."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem}\n(there are the views messages, commits, facts and events)")
