"""The commands about time and money: `kuelog bill` and its subcommands."""

import getpass
from pathlib import Path
from typing import Annotated

import typer

from ops.cli.billing.form import BillForm
from ops.cli.log_options import Archive, Bus, Data, LogSource, Workers
from ops.cli.object_names import months, names_of, namespaces
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output

Since = Annotated[str, typer.Option("--from", help="2026-11, 2026-11-01, 2026-11-01T12:00:00Z (UTC), or +90s.")]
Until = Annotated[str, typer.Option("--to", help="The same; the end itself is not part of the period.")]
Tenant = Annotated[str, typer.Option(help="Only this namespace.", autocompletion=namespaces)]
Author = Annotated[str, typer.Option(help="Who enters it; the name of the user by default.")]

Witness = Annotated[
    str, typer.Option(help="Where keys, checkpoints and data sets of closed months are; else in the folder.")
]

bill_app = typer.Typer(invoke_without_command=True)
console = terminal()


@bill_app.callback()
def bill(
    context: typer.Context,
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    since: Since = "",
    until: Until = "",
    group_by: Annotated[
        list[str] | None,
        typer.Option(
            help="tenant, account, cost-center, queue, local-queue, cohort, flavor, model, node, card, resource, workload, uid or job; several by comma."
        ),
    ] = None,
    tenant: Tenant = "",
    account: Annotated[str, typer.Option(help="Only what this account pays (`kuelog account list`).")] = "",
    output: Annotated[
        BillForm, typer.Option("-o", "--output", help="table, csv, json, yaml, parquet, or focus (FOCUS 1.2).")
    ] = BillForm.TABLE,
    out: Annotated[Path | None, typer.Option(help="A file to write to; with focus, .parquet chooses Parquet.")] = None,
    witness: Witness = "",
    worker: Workers = None,
) -> None:
    """What was held of which cards for how long, and what it costs; exit code 1 if something in it has no price.

    Example: kuelog bill --from 2026-11 --to 2026-12 --group-by tenant,queue

    Example: kuelog bill --from 2026-11 --to 2026-12 -o focus --out november.csv

    Example: kuelog bill --from 2026-11 --to 2026-12 --archive s3://bucket/kuelog

    Example: kuelog bill --from 2026-11 --to 2026-12 --worker east=nats://east:4222 --worker west=/mnt/west
    """
    if context.invoked_subcommand is not None:
        return
    from ops.cli.billing.bill import BillOptions, run_bill  # noqa: PLC0415 - a command loads what it needs

    source = LogSource(data=data, nats=nats, archive=archive)
    asked = BillOptions(source=source, since=since, until=until, tenant=tenant, account=account, witness=witness)
    if worker:
        from ops.cli.billing.clusters_bill import run_bill_of_clusters  # noqa: PLC0415

        raise typer.Exit(run_bill_of_clusters(asked, worker, group_by or (), output=output, out=out, console=console))
    raise typer.Exit(run_bill(asked, group_by or (), output=output, out=out, console=console))


@bill_app.command()
def entries(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    since: Since = "",
    until: Until = "",
    tenant: Tenant = "",
    workload: Annotated[
        str, typer.Option(help="Only this workload or job, as namespace/name.", autocompletion=names_of("workload"))
    ] = "",
    output: Output = AnswerForm.TEXT,
) -> None:
    """The lines of the ledger, each with its id and its places on the log.

    Example: kuelog bill entries --workload ai-research/sweep-b
    """
    from ops.cli.billing.bill import BillOptions, run_entries  # noqa: PLC0415

    asked = BillOptions(
        source=LogSource(data=data, nats=nats, archive=archive), since=since, until=until, tenant=tenant
    )
    raise typer.Exit(run_entries(asked, workload, output=output, console=console))


@bill_app.command()
def reconcile(
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    since: Since = "",
    until: Until = "",
    by: Annotated[int, typer.Option(min=1, help="The stretch that is checked, in seconds.")] = 3600,
    output: Output = AnswerForm.TEXT,
) -> None:
    """Check that tenants are charged with what cards gave, card by card and hour by hour, to the last MiB-millisecond.

    Example: kuelog bill reconcile --by 10
    """
    from ops.cli.billing.bill import BillOptions, run_reconcile  # noqa: PLC0415

    asked = BillOptions(source=LogSource(data=data, nats=nats, archive=archive), since=since, until=until)
    raise typer.Exit(run_reconcile(asked, by * 1000, output=output, console=console))


@bill_app.command()
def correct(
    reason: Annotated[str, typer.Option(help="Why; it is recorded.")],
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    entry: Annotated[str, typer.Option(help="The id of an entry to reverse (`kuelog bill entries`).")] = "",
    since: Annotated[str, typer.Option("--since", help="When the entry should have begun, to enter it again.")] = "",
    until: Annotated[str, typer.Option("--until", help="When it should have ended.")] = "",
    tenant: Annotated[str, typer.Option(help="Whom an amount is for.", autocompletion=namespaces)] = "",
    amount: Annotated[str, typer.Option(help="Money instead of an entry; negative in the tenant's favour.")] = "",
    author: Author = "",
    approved_by: Annotated[list[str] | None, typer.Option(help="Who has approved it; may be given again.")] = None,
    allow_negative: Annotated[
        bool, typer.Option("--allow-negative", help="Give back more than is charged by now, as the reason says.")
    ] = False,
) -> None:
    """Correct the ledger by a new entry: nothing that was entered before is changed.

    Example: kuelog bill correct --entry 5f0c... --reason "the card had failed"

    Example: kuelog bill correct --tenant ai-research --amount=-12.50 --reason "goodwill"
    """
    from events.billing import CorrectionEntered  # noqa: PLC0415
    from ops.cli.billing.bill import BillOptions, run_correct  # noqa: PLC0415

    event = CorrectionEntered(
        tenant=tenant,
        entry=entry,
        amount=amount,
        reason=reason,
        author=author or getpass.getuser(),
        approved_by=tuple(approved_by or ()),
        allow_negative=allow_negative,
    )
    asked = BillOptions(source=LogSource(data=data, nats=nats, archive=archive))
    raise typer.Exit(run_correct(asked, event, since, until, console=console))


@bill_app.command()
def close(
    month: Annotated[str, typer.Argument(help="The month, as 2026-11, in UTC.", autocompletion=months)],
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    witness: Witness = "",
    statement: Annotated[
        Path | None, typer.Option(help="Where its statement is written; else close-MONTH.json.")
    ] = None,
    approved: Annotated[
        Path | None, typer.Option(help="Enter this statement, which two approvers have signed.")
    ] = None,
    author: Author = "",
    reason: Annotated[str, typer.Option(help="What is to be recorded with it.")] = "",
) -> None:
    """Close a month: first its statement, then, once two people have approved of it, for good.

    Example: kuelog bill close 2026-11

    Example: kuelog bill close 2026-11 --approved close-2026-11.json
    """
    from ops.cli.audit.auditing import AuditSource  # noqa: PLC0415
    from ops.cli.billing.close import run_close, run_draft  # noqa: PLC0415

    source = AuditSource(data=data, nats=nats, archive=archive, witness=witness)
    if approved is not None:
        raise typer.Exit(run_close(source, approved, month=month, console=console))
    file = statement or Path(f"close-{month}.json")
    raise typer.Exit(run_draft(source, month, file, author=author or getpass.getuser(), reason=reason, console=console))


@bill_app.command()
def approve(
    file: Annotated[Path, typer.Argument(help="The statement that `kuelog bill close` has written.")],
    name: Annotated[str, typer.Option(help="Who approves.")],
    key: Annotated[Path, typer.Option(help="The file of that person's private key.")],
) -> None:
    """Sign the statement of a month.

    Example: kuelog bill approve close-2026-11.json --name ann --key ann.key
    """
    from ops.cli.billing.close import run_approve  # noqa: PLC0415

    raise typer.Exit(run_approve(file, name, key, console=console))


@bill_app.command()
def closed(data: Data = None, nats: Bus = "", archive: Archive = "", output: Output = AnswerForm.TEXT) -> None:
    """The months that are closed: invoice, totals, hash of the data set, and who has approved of it.

    Example: kuelog bill closed -o json
    """
    from ops.cli.audit.auditing import AuditSource  # noqa: PLC0415
    from ops.cli.billing.close import run_closed  # noqa: PLC0415

    raise typer.Exit(run_closed(AuditSource(data=data, nats=nats, archive=archive), output=output, console=console))


@bill_app.command()
def report(
    month: Annotated[str, typer.Argument(help="The month, e.g. 2026-11, closed or not.", autocompletion=months)],
    out: Annotated[Path, typer.Option(help="The file: .html, .pdf or .json; report-MONTH.html by default.")] = Path(),
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    witness: Witness = "",
) -> None:
    """Write a month for whoever signs it: what ran, who decided, proofs, exceptions, budgets, corrections.

    The whole log is audited first. Exit code 1: something has to be explained, and the report says what.

    Example: kuelog bill report 2026-11 --out november.pdf
    """
    from ops.cli.audit.auditing import AuditSource  # noqa: PLC0415
    from ops.cli.billing.bill_report import run_report  # noqa: PLC0415

    source = AuditSource(data=data, nats=nats, archive=archive, witness=witness)
    file = out if out != Path() else Path(f"report-{month}.html")
    raise typer.Exit(run_report(source, month, file, console=console))


@bill_app.command()
def key(file: Annotated[Path, typer.Argument(help="Where the private key is put; it must not be there yet.")]) -> None:
    """Make a key to approve with, and print its public half.

    Example: kuelog bill key ann.key
    """
    from ops.cli.billing.close import run_key  # noqa: PLC0415

    raise typer.Exit(run_key(file, console=console))


@bill_app.command()
def approver(
    name: Annotated[str, typer.Argument(help="Who may approve of months.")],
    public: Annotated[str, typer.Argument(help="The public key that `kuelog bill key` has printed.")],
    data: Data = None,
    witness: Witness = "",
) -> None:
    """Let somebody approve of months: the witness's key vouches for the person's.

    Example: kuelog bill approver ann 5f0c...
    """
    from ops.cli.audit.auditing import AuditSource  # noqa: PLC0415
    from ops.cli.billing.close import run_approver  # noqa: PLC0415

    raise typer.Exit(run_approver(AuditSource(data=data, witness=witness), name, public, console=console))
