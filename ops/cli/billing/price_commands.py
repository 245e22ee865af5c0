"""The commands about what is charged and to whom: `kuelog price` and `kuelog account`."""

import getpass
from pathlib import Path
from typing import Annotated

import typer

from ops.cli.log_options import Archive, Bus, Data, LogSource
from ops.terminal.console import terminal
from ops.terminal.form import AnswerForm, Output

Author = Annotated[str, typer.Option(help="Who enters it; the name of the user by default.")]
Reason = Annotated[str, typer.Option(help="Why; it is recorded.")]
Currency = Annotated[str, typer.Argument(help="The currency of the prices, such as USD.")]
BilledIn = Annotated[str, typer.Option(help="The currency of the bill, such as EUR.")]

price_app = typer.Typer(help="Price lists: entered once, in force from a time on, never changed.", no_args_is_help=True)
account_app = typer.Typer(help="Accounts and cost centers: who pays for what, from a time on.", no_args_is_help=True)
console = terminal()


@price_app.command(name="set")
def set_prices(
    file: Annotated[Path, typer.Option("-f", "--file", help="A price list in YAML (docs/billing.md).")],
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    author: Author = "",
    reason: Reason = "",
) -> None:
    """Enter a price list: from its time on these prices are in force, and no others.

    Example: kuelog price set -f examples/billing/prices.yaml
    """
    from ops.cli.billing.bill import BillOptions  # noqa: PLC0415
    from ops.cli.billing.entering_terms import run_set_prices  # noqa: PLC0415

    asked = BillOptions(source=LogSource(data=data, nats=nats, archive=archive))
    raise typer.Exit(run_set_prices(file, asked, author=author or getpass.getuser(), reason=reason, console=console))


@price_app.command(name="list")
def list_prices(data: Data = None, nats: Bus = "", archive: Archive = "", output: Output = AnswerForm.TEXT) -> None:
    """All price lists, with when they are in force and where they stand on the log.

    Example: kuelog price list -o json
    """
    _list(LogSource(data=data, nats=nats, archive=archive), "prices", output)


@price_app.command(name="rate")
def set_rate(
    currency: Currency,
    rate: Annotated[str, typer.Argument(help="How much of the bill's currency one of it is, such as 0.9213.")],
    billed_in: BilledIn,
    source: Annotated[str, typer.Option(help="Who publishes the rate; it is recorded.")],
    since: Annotated[str, typer.Option("--from", help="From when; now by default.")] = "",
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    author: Author = "",
    reason: Reason = "",
) -> None:
    """Enter a rate of exchange, for price lists that are billed in another currency (billedIn).

    Example: kuelog price rate USD 0.9213 --billed-in EUR --source "ECB, 2 November" --from 2026-11
    """
    from ops.cli.billing.bill import BillOptions  # noqa: PLC0415
    from ops.cli.billing.entering_terms import run_set_rate  # noqa: PLC0415

    code = run_set_rate(
        BillOptions(source=LogSource(data=data, nats=nats, archive=archive)),
        currency=currency,
        billed_in=billed_in,
        rate=rate,
        since=since,
        source=source,
        author=author or getpass.getuser(),
        reason=reason,
        console=console,
    )
    raise typer.Exit(code)


@price_app.command(name="rates")
def list_rates(data: Data = None, nats: Bus = "", archive: Archive = "", output: Output = AnswerForm.TEXT) -> None:
    """All rates of exchange on record, with their source and their place on the log.

    Example: kuelog price rates
    """
    _list(LogSource(data=data, nats=nats, archive=archive), "rates", output)


@account_app.command(name="set")
def set_accounts(
    file: Annotated[Path, typer.Option("-f", "--file", help="Rules in YAML (docs/billing.md).")],
    data: Data = None,
    nats: Bus = "",
    archive: Archive = "",
    author: Author = "",
    reason: Reason = "",
) -> None:
    """Say which accounts and cost centers pay: from a time on by these rules, and no others.

    Example: kuelog account set -f examples/billing/accounts.yaml
    """
    from ops.cli.billing.bill import BillOptions  # noqa: PLC0415
    from ops.cli.billing.entering_terms import run_set_accounts  # noqa: PLC0415

    asked = BillOptions(source=LogSource(data=data, nats=nats, archive=archive))
    raise typer.Exit(run_set_accounts(file, asked, author=author or getpass.getuser(), reason=reason, console=console))


@account_app.command(name="list")
def list_accounts(data: Data = None, nats: Bus = "", archive: Archive = "", output: Output = AnswerForm.TEXT) -> None:
    """All rules about who pays, with when they are in force and where they stand on the log.

    Example: kuelog account list
    """
    _list(LogSource(data=data, nats=nats, archive=archive), "accounts", output)


def _list(source: LogSource, what: str, output: AnswerForm) -> None:
    from ops.cli.billing.bill import BillOptions  # noqa: PLC0415
    from ops.cli.billing.entering_terms import run_list  # noqa: PLC0415

    raise typer.Exit(run_list(BillOptions(source=source), what, output=output, console=console))
