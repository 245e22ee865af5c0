"""`kuelog audit …`: arguments and options."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ops.cli.log_options import DEMO, Archive, Bus, Data, Workers
from ops.cli.object_names import streams
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output

audit_app = typer.Typer(
    name="audit",
    help="Prove that the log is what it was, hand out proofs, archive it, and ask it in SQL.\n\n"
    "Example: kuelog audit verify --data .kuelog/demo",
    no_args_is_help=True,
)

Witness = Annotated[str, typer.Option(help="Where keys, checkpoints and leaves are; else in the folder or archive.")]


@audit_app.command()
def verify(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    witness: Witness = "",
    trust: Annotated[list[str] | None, typer.Option(help="The fingerprint of a key that you know; repeatable.")] = None,
    checkpoint: Annotated[
        list[str] | None, typer.Option(help="A file of checkpoints that was handed out earlier; repeatable.")
    ] = None,
    against: Annotated[
        str,
        typer.Option(metavar="ARCHIVE", help="An archive by whose bytes is said what was there before it was changed."),
    ] = "",
    timestamp_root: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PEM", help="A file of certificates that time stamps of checkpoints have to lead to; repeatable."
        ),
    ] = None,
    worker: Workers = None,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Find everything that was changed, is missing, was added or stands elsewhere. 0: nothing; 1: something; 2: can't say.

    Example: kuelog audit verify --data .kuelog/demo --trust 0123456789abcdef

    Example: kuelog audit verify --archive s3://bucket/kuelog --checkpoint checkpoints/checkpoint-421-0a1b2c3d.json

    Example: kuelog audit verify --data .kuelog/demo --against s3://bucket/kuelog

    Example: kuelog audit verify --nats nats://manager:4222 --witness /mnt/witness --worker east=nats://east:4222
    """
    from ops.cli.audit.auditing import AuditSource, run_verify  # noqa: PLC0415 - a command loads what it needs

    if timestamp_root and not checkpoint:
        raise typer.BadParameter(
            "name the files of checkpoints whose time stamps it is for with --checkpoint", param_hint="--timestamp-root"
        )
    source = AuditSource(data=data, nats=nats, archive=archive, witness=witness)
    code = run_verify(
        source,
        trust or (),
        checkpoint or (),
        against=against,
        roots=timestamp_root or (),
        workers=worker or (),
        output=output,
        console=_console(),
    )
    raise typer.Exit(code)


@audit_app.command()
def checkpoint(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    witness: Witness = "",
    to: Annotated[
        str,
        typer.Option(
            help="Also hand it out: a folder, any address that fsspec knows, one of HTTP that takes a POST, or nats://HOST:PORT/SUBJECT."
        ),
    ] = "",
    timestamp: Annotated[
        str, typer.Option(metavar="URL", help="A server of RFC 3161 that stamps what is handed out.")
    ] = "",
) -> None:
    """Audit the log, sign every stream as it is now, and hand the checkpoints out to where this machine can't change them.

    Of a log whose beginning was rolled away that is read from --archive.

    Example: kuelog audit checkpoint --data .kuelog/demo --to /mnt/auditors
    """
    from ops.cli.audit.auditing import AuditSource, run_checkpoint  # noqa: PLC0415

    source = AuditSource(data=data, nats=nats, archive=archive, witness=witness)
    raise typer.Exit(run_checkpoint(source, to, timestamp, console=_console()))


@audit_app.command()
def prove(
    sequence: Annotated[int | None, typer.Argument(help="The sequence of the message.")] = None,
    consistency: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="OLD NEW",
            help="Instead of a message: two files of checkpoints that were handed out, the older first.",
        ),
    ] = None,
    stream: Annotated[
        str, typer.Option(help="The stream: LOG_0, DEVICES_default, FACTS or CONTROL.", autocompletion=streams)
    ] = "LOG_0",
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    witness: Witness = "",
    file: Annotated[str, typer.Option("-f", "--file", help="Where to write the proof; - prints it.")] = "-",
) -> None:
    """Write a proof that a message is on the log at that sequence, which docs/verify_proof.py checks without the log.

    With --consistency: that the stream at one checkpoint begins with all that it was at another.

    Example: kuelog audit prove 17 --data .kuelog/demo -f proof.json

    Example: kuelog audit prove --consistency checkpoint-415-372ada17.json checkpoint-920-5c31f0aa.json -f proof.json
    """
    from ops.cli.audit.auditing import AuditSource, run_prove, run_prove_consistency  # noqa: PLC0415

    source = AuditSource(data=data, nats=nats, archive=archive, witness=witness)
    if consistency is not None and sequence is None:
        raise typer.Exit(run_prove_consistency(source, stream, *consistency, file, console=_console()))
    if sequence is None or consistency is not None:
        raise typer.BadParameter("name the sequence of a message, or --consistency with two files of checkpoints")
    raise typer.Exit(run_prove(source, stream, sequence, file, console=_console()))


@audit_app.command(name="archive")
def archive_(
    to: Annotated[str, typer.Argument(help="The archive: a folder, or any address that fsspec knows.")],
    data: Data = None,
    nats: Bus = "",
    witness: Witness = "",
) -> None:
    """Copy what is not archived yet to Parquet, with its proof; every file is read back before it counts.

    Only what is signed is archived. With the key at hand it is signed first; otherwise what is left out is named.

    Example: kuelog audit archive /mnt/archive --data .kuelog/demo
    """
    from ops.cli.audit.archive import run_archive  # noqa: PLC0415
    from ops.cli.audit.auditing import AuditSource  # noqa: PLC0415

    raise typer.Exit(run_archive(AuditSource(data=data, nats=nats, witness=witness), to, console=_console()))


@audit_app.command()
def query(
    sql: Annotated[str, typer.Argument(help="SQL on the views messages, commits, facts and events.")],
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    unchecked: Annotated[
        bool,
        typer.Option("--unchecked", help="Take the files of --archive as they lie, without checking hashes first."),
    ] = False,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Ask the log, an archive, or the two as one, in SQL. The files of an archive are held against their hashes first.

    Example: kuelog audit query "SELECT type, count(*) FROM events GROUP BY type ORDER BY 2 DESC"

    Example: kuelog audit query "SELECT count(*) FROM facts" --archive s3://bucket/kuelog --unchecked
    """
    from ops.cli.audit.auditing import AuditSource  # noqa: PLC0415
    from ops.cli.audit.query import run_query  # noqa: PLC0415

    source = AuditSource(data=data, nats=nats, archive=archive)
    if unchecked and not source.archive_alone:
        raise typer.BadParameter(
            "what is read as one with a log is always checked: ask an archive alone", param_hint="--unchecked"
        )
    raise typer.Exit(run_query(source, sql, unchecked=unchecked, output=output, console=_console()))


@audit_app.command(name="rotate-key")
def rotate_key(
    witness: Annotated[Path, typer.Option(help="The folder of the witness.")] = DEMO / "witness",
    lost: Annotated[str, typer.Option(help="The old key is lost: why. The new one is then endorsed by nobody.")] = "",
) -> None:
    """Sign with a new key from now on, which the old one endorses; the old private key is removed.

    Example: kuelog audit rotate-key --witness .kuelog/up/witness
    """
    from ops.cli.audit.auditing import run_rotate  # noqa: PLC0415

    raise typer.Exit(run_rotate(witness, lost, console=_console()))


def _console() -> Console:
    return terminal()
