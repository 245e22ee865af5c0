"""`kuelog demo`: a whole platform, a scenario played to its end, and the proof from its log."""

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from rich.console import Console

from events.multikueue import MultiKueueSettings
from events.settings import SettingsObserved
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import archive_of
from ops.lint.check import lint
from ops.production.archive.history import read_everything
from ops.queries.billing import tables
from ops.queries.billing.answer import DEFAULT_GROUPS
from ops.queries.billing.reading import Entries
from ops.queries.billing.several_clusters import MANAGER, bills_of_clusters, in_one, period_of_all
from ops.sandbox.failures import SANDBOX_FAILURES
from ops.sandbox.scenario.card_verdict import CardVerdict
from ops.sandbox.scenario.node_pools import counted
from ops.sandbox.scenario.platform import platform
from ops.sandbox.scenario.play import play
from ops.sandbox.scenario.report import show
from ops.sandbox.scenario.script import load, settings_of
from ops.sandbox.scenario.verdict import RunVerdict, judge, judge_worker
from ops.sandbox.scenario.worker_clusters import CLUSTERS, worker_clusters
from projections.billing.lines.charged_lines import EVERYBODY


def run_demo(folder: Path, data: Path, *, loose: bool, console: Console) -> int:
    """Play the scenario of a folder; 0 when everything that it expects was seen to happen."""
    with known_failures(SANDBOX_FAILURES) as outcome:
        verdict = asyncio.run(_run(folder, data, loose=loose, console=console))
        outcome.code = 0 if verdict.held else 1
    return outcome.code


async def _run(folder: Path, data: Path, *, loose: bool, console: Console) -> RunVerdict:
    script = load(folder)
    settings = settings_of(script, folder)
    begun = time.monotonic()
    console.print(f"[bold]{script.title}[/bold]")
    pools = [pool for one in (script, *script.workers) for pool in one.nodes]
    nodes = sum(pool.count for pool in pools)
    cards = sum(pool.count * pool.cards for pool in pools)
    console.print(
        f"{counted(nodes, cards)}; scenario time runs {script.clock_scale} times as fast as the wall's; "
        f"everything stays in {data}"
    )
    if loose:
        findings = lint([folder], loose=True)
        warnings = [one for one in findings if one.severity == "warning"]
        console.print(f"{len(warnings)} warning(s) about these manifests: kuelog lint {folder}")
        for one in findings:
            if one.severity == "error":
                lacking = f"  {one.object}: {one.what}, so {one.consequence}"
                console.print(lacking, markup=False, highlight=False, soft_wrap=True)
    if script.workers and settings is None:
        settings = SettingsObserved(multikueue=MultiKueueSettings())
    here = data.resolve()
    async with (
        platform(here, scale=script.clock_scale, settings=settings) as on,
        worker_clusters(on, script.workers, here, settings) as workers,
    ):
        print_line = partial(_indented, console)
        agreed = await play(script, folder, on, loose=loose, print_line=print_line, workers=workers)
        played = time.monotonic() - begun
        entries = await read_everything(on.bus, await archive_of(LogSource(data=data), on.bus))
        elsewhere = {name: await read_everything(one.on.bus) for name, one in workers.items()}
    verdict = judge(script, entries)
    for name, found in elsewhere.items():
        verdict.findings.extend(judge_worker(name, found))
    if agreed:
        verdict.findings.append(
            CardVerdict(
                what="log and cluster agree about every card before each step and at the end",
                held=all(agreed),
                seen=f"{sum(agreed)} of {len(agreed)} times",
            )
        )
    show(verdict, console)
    if elsewhere:
        _show_one_bill({MANAGER: entries, **elsewhere}, console)
    facts, commits = len(entries["FACTS"]), sum(len(found) for name, found in entries.items() if name != "FACTS")
    console.print(
        f"\n{facts} facts, {commits} commits; played in {played:.1f} s, replayed and checked in "
        f"{time.monotonic() - begun - played:.1f} s. Look around: kuelog replay --data {data} --verify"
    )
    console.print(f"In a browser, at any moment of it: kuelog console --data {data}", highlight=False)
    if elsewhere:
        named = " ".join(f"--worker {name}={data / CLUSTERS / name}" for name in elsewhere)
        console.print(
            f"Over all logs: kuelog bill, explain, history or audit verify --data {data} {named}",
            highlight=False,
            soft_wrap=True,
        )
    return verdict


def _show_one_bill(logs: Mapping[str, Entries], console: Console) -> None:
    """What was held in all clusters, in one bill."""
    window = period_of_all(logs, "", "")
    console.print("")
    tables.show_lines(
        in_one(bills_of_clusters(logs, window, DEFAULT_GROUPS, EVERYBODY)), console, "One bill over all clusters"
    )


def _indented(console: Console, text: str) -> None:
    console.print(f"  {text}")
