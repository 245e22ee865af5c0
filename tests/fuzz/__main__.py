"""Put wild objects, facts and messages to all services: `make fuzz`, or `python -m tests.fuzz --help`."""

import argparse
import os
import sys
import time
from collections import Counter

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ops.production.process.telemetry import configure_logging
from tests.fuzz.many import EACH, Order, Verdict, What, played

_SHOWN = 20


def main() -> int:
    """Play all of it; 1 when any of it did harm."""
    asked = _parser().parse_args()
    configure_logging("critical")
    console, began = Console(soft_wrap=True), time.monotonic()
    orders = _orders(asked)
    harmed: list[Verdict] = []
    aside, count = Counter[str](), 0
    columns = (TextColumn("platforms"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        played(orders, asked.jobs) as verdicts,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
    ):
        task = progress.add_task("platforms", total=len(orders))
        for done, verdict in enumerate(verdicts, 1):
            progress.advance(task)
            count += verdict.count
            aside.update(verdict.aside)
            if verdict.harm:
                harmed.append(verdict)
                console.print(escape(_told(verdict)), highlight=False)
            elif not console.is_terminal and done % 100 == 0:
                console.print(f"{done} of {len(orders)} platforms", highlight=False)
    for reason, times in aside.most_common(_SHOWN):
        console.print(escape(f"harmed nobody else, {times} times: {reason[:300]}"), highlight=False)
    seconds = time.monotonic() - began
    told = f"{count} from seed {asked.seed} on {len(orders)} platforms in {seconds:.0f} s: {len(harmed)} did harm"
    console.print(told, highlight=False)
    return 1 if harmed else 0


def _told(verdict: Verdict) -> str:
    return "\n".join(
        (f"{verdict.order.what} of seed {verdict.order.seed}: {verdict.harm}", *verdict.told, verdict.command)
    )


def _orders(asked: argparse.Namespace) -> list[Order]:
    """Messages and objects in turn, each platform from a seed of its own."""
    only = tuple(int(one) for one in asked.only.split(",")) if asked.only else None
    kinds = [What(asked.what)] if asked.what else list(What)
    platforms = max(asked.count // EACH, 1)
    return [
        Order(what=kinds[number % len(kinds)], seed=asked.seed + number // len(kinds), only=only)
        for number in range(platforms)
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="how many objects, facts and messages in all")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first platform; the others follow it")
    parser.add_argument("--what", choices=[*What], default="", help="only messages, or only objects")
    parser.add_argument("--only", default="", help="of each platform only these, by index: 3,17")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes play")
    return parser


if __name__ == "__main__":
    sys.exit(main())
