"""What an audit finds: where, and what is wrong there."""

import msgspec

AUTHOR, TIME = "author", "time"
"""What was amiss with a message when it was stored, which is no change of the log."""


class AuditFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One place of the log, or of what is kept beside it, that is not what it was."""

    stream: str
    sequence: int
    upto: int = 0
    """The last sequence, when it is a run of them."""
    what: str
    """changed, missing, added, reordered, renumbered, chain, inputs, unreadable, author, time, checkpoint, record, key, archive, cited."""
    detail: str

    @property
    def is_change(self) -> bool:
        """Whether the log is not as it was; else it is, and what was stored there was amiss from the beginning."""
        return self.what not in (AUTHOR, TIME)

    @property
    def place(self) -> str:
        """The place in words."""
        if not self.sequence:
            return self.stream or "keys"
        return f"{self.stream} {self.sequence}" + (f"–{self.upto}" if self.upto > self.sequence else "")


class Covered(msgspec.Struct, frozen=True, kw_only=True):
    """One stream as it was audited."""

    stream: str
    messages: int
    signed: int = 0
    """So many of them stand under a checkpoint that counts."""
    key: str = ""
    root: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an audit."""

    streams: tuple[Covered, ...]
    findings: tuple[AuditFinding, ...]
    first: tuple[str, ...] = ()
    """By stream that was changed, the first place with what was there and what is there now, where an archive says so."""

    stamps: tuple[str, ...] = ()
    """What the time stamps of checkpoints say that were handed out."""

    cited: tuple[str, ...] = ()
    """What is cited of the logs of worker clusters, and whether it was found there."""

    @property
    def changes(self) -> tuple[AuditFinding, ...]:
        """What keeps the log from being signed and archived as it stands."""
        return tuple(one for one in self.findings if one.is_change)
