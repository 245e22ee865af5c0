"""`kuelog audit …`: what an auditor asks of a log, of an archive, or of both."""

import asyncio
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from cryptography.x509 import Certificate
from rich.console import Console

from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource, worker_sources
from ops.cli.log_reading import archive_of, bus_of, opened_bus
from ops.files.run_folder import HoldsNoLog, used
from ops.production.archive.archive import needed_segments
from ops.production.archive.archive_pages import ArchivedStreams
from ops.production.archive.errors import ArchiveNeverGrows, FolderUnreadable, StampRefused
from ops.production.archive.finding import AuditFinding, Report
from ops.production.archive.folder import Folder
from ops.production.archive.history import end_of
from ops.production.archive.paged_history import PastGaps, open_stored
from ops.production.archive.proof.evidence import Evidence, Statement, load_evidence, load_statement, stamped_text
from ops.production.archive.proof.handing_out import file_of, hand_out, shown, statement_in
from ops.production.archive.proof.keys import begin_anew
from ops.production.archive.proof.timestamps import check_stamp, roots_in, stamp, stamped
from ops.production.archive.proof.witness import HEADS, HeadWitness
from ops.production.log.jetstream.bus import without_password
from ops.production.log.streams import streams_on
from ops.queries.audit.citations import citations_in, held_against
from ops.queries.audit.first_change import first_changes
from ops.queries.audit.proof import prove, prove_consistency
from ops.queries.audit.verify import Auditor
from ops.queries.audit.walk import Streams
from ops.terminal.form import AnswerForm, print_answer
from ops.terminal.legible import escaped, legible
from ops.terminal.table import FittingTable, TableColumn, number

_SHOWN = 50


class AuditSource(LogSource, frozen=True, kw_only=True):
    """Where the log is, and where its evidence."""

    witness: str = ""

    @property
    def beside(self) -> str:
        """The folder of the evidence: named, or in the archive, or where a run keeps it."""
        if self.witness:
            return self.witness
        if self.archive_alone:
            # What is no archive is said to be none, before its evidence is asked for.
            needed_segments(Folder(self.archive))
            return self.archive
        if self.nats or self.folder is None:
            raise FolderUnreadable(
                without_password(self.nats), "name the folder of its checkpoints with --witness: it is not on the bus"
            )
        if not self.folder.is_dir():
            raise HoldsNoLog(self.folder)
        return str(self.folder / "witness")


class ReadLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log as an audit reads it, stream by stream."""

    entries: Streams
    damage: Callable[[], Sequence[AuditFinding]]
    """Problems with the files that it was read from; complete once all of them were read."""
    ends: Callable[[], Mapping[str, int]]
    """The last sequence of each stream."""


def run_verify(
    source: AuditSource,
    trust: Iterable[str],
    checkpoints: Iterable[str],
    *,
    against: str = "",
    roots: Sequence[Path] = (),
    workers: Sequence[str] = (),
    output: AnswerForm,
    console: Console,
) -> int:
    """Audit everything; 0 when nothing is wrong, 1 when something is.

    `against`: an archive that says what was there. `roots`: files of certificates that time stamps have to lead to. `workers`: the logs of worker
    clusters, which what is cited of them is held against.
    """
    with known_failures() as outcome:
        evidence = load_evidence(source.beside)
        named = list(checkpoints)
        statements = [load_statement(one) for one in named]
        trusted = roots_in(roots)
        begun = time.perf_counter()
        with found_of(source) as found, console.status("reading"):
            report = examined(found, evidence, trust, statements)
            if against:
                changes = tuple(first_changes(report.findings, found.entries, evidence, against))
                report = msgspec.structs.replace(report, first=tuple(map(str, changes)))
            report = _with_citations(report, found, workers)
        report = with_stamps(report, zip(named, statements, strict=True), trusted)
        took = time.perf_counter() - begun
        if output is not AnswerForm.TEXT:
            print_answer(report, output)
        else:
            show(report, took, console)
            _show_rolled_away(report, source, console)
        outcome.code = 1 if report.findings else 0
    return outcome.code


def _with_citations(report: Report, found: ReadLog, workers: Sequence[str]) -> Report:
    """The report with what is cited of the logs of worker clusters, held against those that are named."""
    citations, sources = citations_in(found.entries), worker_sources(workers)
    with ExitStack() as stack:
        logs = {
            name: stack.enter_context(found_of(AuditSource(data=one.data, nats=one.nats, archive=one.archive))).entries
            for name, one in sources.items()
        }
        wrong, said = held_against(citations, logs)
    return msgspec.structs.replace(report, findings=(*report.findings, *wrong), cited=tuple(said))


def run_checkpoint(source: AuditSource, to: str, server: str, *, console: Console) -> int:
    """Audit what there is, sign it as it is now, and hand out the checkpoints; 1 when it is not worth signing."""
    with known_failures() as outcome:
        if source.archive_alone:
            raise ArchiveNeverGrows(source.archive)
        folder = Path(source.beside)
        # The evidence first: of a log that grows, what is read afterwards is never less than what was signed. Where nothing was, a log still has a chain.
        evidence = load_evidence(str(folder)) if (folder / HEADS).exists() else Evidence()
        with found_of(source) as found, console.status("reading"):
            report = examined(found, evidence)
        if is_refused(report, source, "signed", console):
            outcome.code = 1
            return outcome.code
        asyncio.run(sign_all(source, folder))
        evidence = load_evidence(str(folder))
        for stream, head in sorted(evidence.heads.items()):
            console.print(legible(f"{stream} {head.sequence}: {head.root} by {head.key}"), highlight=False)
        if to:
            name = _hand_out(folder, to, server)
            console.print(f"handed out as {shown(to).rstrip('/')}/{name}", highlight=False)
        outcome.code = 0
    return outcome.code


def run_prove(source: AuditSource, stream: str, sequence: int, file: str, *, console: Console) -> int:
    """Write the proof of one message."""
    with known_failures() as outcome:
        evidence = load_evidence(source.beside)
        with found_of(source) as found, console.status("reading"):
            proof = prove(found.entries.get(stream, ()), evidence, stream, sequence)
        _write_proof(proof, f"{stream} {sequence}", file, console)
        outcome.code = 0
    return outcome.code


def run_prove_consistency(source: AuditSource, stream: str, old: str, new: str, file: str, *, console: Console) -> int:
    """Write the proof that a stream only grew between two checkpoints that were handed out; the log itself is not read."""
    with known_failures() as outcome:
        before, after = load_statement(old), load_statement(new)
        proof = prove_consistency(load_evidence(source.beside), stream, before, after)
        subject = f"{stream} from {before.heads[stream].sequence} to {after.heads[stream].sequence}"
        _write_proof(proof, subject, file, console)
        outcome.code = 0
    return outcome.code


def run_rotate(witness: Path, lost: str, *, console: Console) -> int:
    """Sign with a new key from now on; with `lost` (a reason) one that no older key endorses."""
    with known_failures() as outcome:
        if not (witness / HEADS).exists():
            raise FolderUnreadable(str(witness), f"holds no {HEADS}: it is no witness folder")
        if lost:
            heads = load_evidence(str(witness)).heads
            with used(witness):
                key = begin_anew(witness, {stream: head.sequence for stream, head in heads.items()}, lost=lost)
            endorsement = (
                f"nobody endorses it: auditors have to be given its fingerprint, and name it with --trust {key}"
            )
        else:
            key = HeadWitness(witness).rotate()
            endorsement = "endorsed by the one before, which is removed; it counts for what it had signed"
        console.print(f"key {key} from now on: {endorsement}", highlight=False)
        outcome.code = 0
    return outcome.code


@contextmanager
def found_of(source: AuditSource) -> Generator[ReadLog, None, None]:
    """The log as far as it can be read, whatever is wrong with it. Raises the known failures, also while it is gone through."""
    if source.archive_alone:
        archived = ArchivedStreams(source.archive)
        # Its streams were signed one after the other, so one may rest on more of another than was archived with it.
        yield ReadLog(entries=archived.streams, damage=lambda: archived.damage, ends=dict)
        return
    with opened_bus(source) as (bus, wait):
        archive = wait(archive_of(source, bus))
        names = wait(streams_on(bus)).every
        streams = {name: wait(bus.stream(name)) for name in names}
        whole = open_stored(wait, bus, archive, names) if archive else {}
        yield ReadLog(
            entries=whole or {name: PastGaps(wait, stream) for name, stream in streams.items()},
            damage=list,
            # Asked last: what any commit that was read rests on was stored before.
            ends=lambda: {name: wait(end_of(stream)) for name, stream in streams.items()},
        )


def examined(
    found: ReadLog, evidence: Evidence, trust: Iterable[str] = (), statements: Iterable[Statement] = ()
) -> Report:
    """Audit a log that was read; each problem is reported once, with its place."""
    report = Auditor(evidence, trust).examine(found.entries, list(statements), found.ends)
    # Where the messages themselves name the place, the file that they stand in adds nothing.
    named = [(one.stream, one.sequence) for one in report.changes]
    rest = [
        one
        for one in found.damage()
        if not any(stream == one.stream and one.sequence <= at <= one.upto for stream, at in named)
    ]
    return msgspec.structs.replace(report, findings=(*report.findings, *rest))


def with_stamps(report: Report, statements: Iterable[tuple[str, Statement]], roots: Sequence[Certificate]) -> Report:
    """The report with what the time stamps of checkpoints say, each held against the certificates where any are named."""
    said: list[str] = []
    wrong: list[AuditFinding] = []
    for file, statement in statements:
        if roots and not statement.timestamps:
            detail = f"{file}: has no time stamp, so that nobody but its signer says when it was there"
            wrong.append(AuditFinding(stream="", sequence=0, what="checkpoint", detail=detail))
        for token in statement.timestamps:
            try:
                says = check_stamp(token, stamped_text(statement), roots) if roots else stamped(token)
            except StampRefused as problem:
                wrong.append(AuditFinding(stream="", sequence=0, what="checkpoint", detail=f"{file}: {problem}"))
                continue
            held = "" if roots else ", which was not held against a root: name its certificate with --timestamp-root"
            said.append(f"{file} was there at {format_timestamp(says.at)}, says {says.by}{held}")
    return msgspec.structs.replace(report, stamps=tuple(said), findings=(*report.findings, *wrong))


def _write_proof(proof: dict[str, Any], subject: str, file: str, console: Console) -> None:
    data = msgspec.json.format(msgspec.json.encode(proof))
    if file == "-":
        print(data.decode())  # noqa: T201 - bytes for programs
        return
    parent, _, name = file.rpartition("/")
    Folder(parent or ".").write(name, data + b"\n")
    console.print(f"{subject} proved in {file}: python docs/verify_proof.py {file} FINGERPRINT")


async def sign_all(source: AuditSource, folder: Path) -> None:
    """Sign what every stream is now. Raises `LogRegressed`, `FolderUnusable`."""
    witness = HeadWitness(folder)
    async with bus_of(source) as bus:
        for name in (await streams_on(bus)).every:
            await witness.sign(await bus.stream(name))


def _hand_out(folder: Path, to: str, server: str) -> str:
    """Give the checkpoints to a place, with a time stamp where a server is named; the name. Raises `NotHandedOut`, `StampRefused`."""
    statement = statement_in(folder)
    assert statement is not None, "they were signed a moment ago"

    async def handed_out() -> str:
        token = await stamp(server, stamped_text(statement)) if server else ""
        name, data = file_of(msgspec.structs.replace(statement, timestamps=(token,) if token else ()))
        await hand_out(to, name, data)
        return name

    return asyncio.run(handed_out())


def show(report: Report, took: float, console: Console) -> None:
    """Print what an audit has found."""
    numbers = map(number, ("messages", "signed", "behind"))
    table = FittingTable((TableColumn("stream", whole=True), *numbers, TableColumn("key", whole=True)))
    for one in report.streams:
        behind = one.messages - one.signed
        named = escaped(one.stream), escaped(one.key)
        table.add(named[0], f"{one.messages:,}", f"{one.signed:,}", f"{behind:,}" if behind else "", named[1])
    console.print(table)
    for one in report.streams:
        if one.root:
            line = legible(f"{one.stream} {one.signed} root {one.root}")
            console.print(line, style="dim", highlight=False, soft_wrap=True)
    count = sum(one.messages for one in report.streams)
    if took:
        console.print(f"{count:,} messages read and held against the record in {took:.2f} s", style="dim")
    _show_findings(report, console)
    if not report.changes:
        console.print("nothing was changed, is missing, was added or stands elsewhere")
    if any(one.messages > one.signed for one in report.streams):
        console.print(
            "what is behind the last checkpoint is held by the chain of commits only, facts by their numbers: `kuelog audit checkpoint`"
        )


def lack_beginning(report: Report) -> list[str]:
    """The streams whose first messages are not there."""
    return [one.stream for one in report.findings if one.what == "missing" and one.sequence == 1]


def _show_rolled_away(report: Report, source: AuditSource, console: Console) -> None:
    """Where the beginning of a stream is not there and no archive is read, say that it may have been rolled away into one."""
    lack = lack_beginning(report)
    if lack and not source.archive:
        streams = legible(", ".join(lack))
        console.print(f"if the beginning of {streams} was rolled away: name the archive that holds it")


def is_refused(report: Report, source: AuditSource, done: str, console: Console) -> bool:
    """Show what was found, if anything; whether the record was changed, so that nothing of it is `done`."""
    if report.findings:
        show(report, 0, console)
    if report.changes:
        console.print(f"[red]nothing is {done}[/red]")
        _show_rolled_away(report, source, console)
    return bool(report.changes)


def _show_findings(report: Report, console: Console) -> None:
    for line in (*report.stamps, *report.cited):
        console.print(legible(line), highlight=False, soft_wrap=True)
    for line in report.first:
        console.print(f"[red]{legible(line)}[/red]", highlight=False, soft_wrap=True)
    for one in report.findings[:_SHOWN]:
        console.print(f"[red]{one.what}[/red]  {legible(f'{one.place}  {one.detail}')}", highlight=False)
    if len(report.findings) > _SHOWN:
        console.print(f"… and {len(report.findings) - _SHOWN:,} more; -o json shows all")


__all__ = [
    "AuditSource",
    "examined",
    "found_of",
    "is_refused",
    "lack_beginning",
    "run_checkpoint",
    "run_prove",
    "run_prove_consistency",
    "run_rotate",
    "run_verify",
    "show",
    "sign_all",
]
