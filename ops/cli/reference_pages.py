"""`python -m ops.cli.reference_pages`: write the pages for reference in docs/ from what the code itself says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from rich.text import Text
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from events.api.conditions import CONDITIONS, REASONS
from events.api.labels import KNOWN
from ops.cli.lazy_commands import LazyCommand
from ops.cli.main import app
from ops.production.configuration.page import page as configuration_page
from ops.sandbox.scenario.page import page as scenarios_page

DOCS = Path(__file__).parents[2] / "docs"
LABELS, COMMANDS = DOCS / "labels.md", DOCS / "commands.md"
CONFIGURATION, CONDITIONS_PAGE = DOCS / "configuration.md", DOCS / "conditions.md"
SCENARIOS = DOCS / "scenarios.md"
_LABELS_HEAD = """# Labels, annotations, finalizers and gates

All of Kueue's and kuelog's that are read or written, on which objects, and by whom; an example of each of kuelog's own that you write
stands in the [rules](rules/README.md#annotations). HAMi's stand in [devices.md](devices.md#what-a-pod-says). This page is made by
`python -m ops.cli.reference_pages`.

| key | as | on | written by | what it says |
|---|---|---|---|---|
"""
_COMMANDS_HEAD = """# Commands

Each command with its options, as `--help` says it; `kubectl kuelog …` is the same. This page is made by
`python -m ops.cli.reference_pages`.

## What all of them do

* `-o json` and `-o yaml`, wherever a command has `-o`, say the same, all of it, to programs; text is for people.
* On a terminal a table leaves out the columns that matter least where there is no room, and says which. Into a pipe or a file goes
  every column and every line whole, without colours.
* An answer goes to standard output; errors, warnings and progress go to standard error.
* A file that is `-` is standard input.
* Who asks a log by none of `--data`, `--nats` and `--archive` asks the bus that `KUELOG_NATS` names, else the folder that `KUELOG_DATA` names, else
  `.kuelog/demo`. So no password stands on a command line.
* An option that is not given is read from the variable that is named with it, several values with spaces between. `KUELOG_BUS_CA` names a file with
  the authority of a [bus in TLS](deploy.md#bus-in-tls), for every command.

## Exit codes

| code | when |
|---|---|
| 0 | it is done, or the answer is there and good, also where a list has nothing in it: text says so and what to do, `-o json` has an empty list; a service was stopped |
| 1 | the answer is there and bad: a mistake in manifests, a difference, a change of the record, no price, something that does not fit, nothing found of what was named |
| 2 | it was asked wrongly, or could not be done: an unknown option or object, no log, no cluster; one message on standard error says why |
| 130 | Ctrl-C |
| 141 | nobody reads the rest of the answer, as behind `head -1` |

`get`, `edit` and `patch` end with kubectl's code, to which they hand on.
"""
_CONDITIONS_HEAD = """# Conditions and reasons

Every condition that kuelog sets on objects of Kueue's, and every reason in it. Types and reasons are Kueue's where it has them, so tools
that read them go on working. What a job waits for, in numbers: `kuelog explain`. This page is made by `python -m ops.cli.reference_pages`.

| on | condition | True means |
|---|---|---|
"""
_REASONS_HEAD = """
## Reasons

A reason that ends in `NotSupported` asks for what is not done yet ([limits.md](limits.md)). Beside those below, `Requeued` has the reason of the
eviction (True where it queues again at once, False while it waits); `WaitingForReplacementPods` of who was evicted has it too, and so has
`BlockedOnPreemptionGates` when that is over by an eviction.

| condition | reason | it is | what to do |
|---|---|---|---|
"""


def labels_page() -> str:
    """docs/labels.md."""
    rows = (f"| `{one.key}` | {one.form} | {one.on} | {one.writer} | {one.meaning} |\n" for one in KNOWN)
    return _LABELS_HEAD + "".join(rows)


def conditions_page() -> str:
    """docs/conditions.md."""
    found = "".join(f"| {one.on} | `{one.type}` | {one.meaning} |\n" for one in CONDITIONS)
    rows = (f"| `{one.type}` | `{one.reason}` | {one.meaning} | {one.instead} |\n" for one in REASONS)
    return _CONDITIONS_HEAD + found + _REASONS_HEAD + "".join(rows)


def commands_page() -> str:
    """docs/commands.md."""
    return _COMMANDS_HEAD + "".join(_sections(typer.main.get_command(app), None, "kuelog"))


def _sections(command: Any, above: typer.Context | None, name: str) -> Iterator[str]:
    """A command and those below it, each as a section."""
    assert isinstance(command, TyperCommand | TyperGroup)
    context = typer.Context(command, info_name=name, parent=above)
    yield f"\n## `{context.command_path}`\n"
    if command.help:
        yield f"\n{_help(command.help)}\n"
    rows = [row for one in command.params if (row := _row(one))]
    if rows:
        yield "\n| option | what it says |\n|---|---|\n" + "".join(rows)
    if isinstance(command, TyperGroup):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None and not found.hidden:
                real = found.real() if isinstance(found, LazyCommand) else found
                yield from _sections(real, context, below)


def _help(text: str) -> str:
    """The paragraphs of a help text; examples as code."""
    paragraphs = [" ".join(one.split()) for one in Text.from_markup(text).plain.replace("\f", "").split("\n\n")]
    return "\n\n".join(
        f"    {one.removeprefix('Example: ')}" if one.startswith("Example: ") else one for one in paragraphs if one
    )


def _row(one: Any) -> str:
    match one:
        case TyperOption(name="help" | "install_completion" | "show_completion") | TyperOption(hidden=True):
            return ""
        case TyperOption():
            names, words = (
                ", ".join((*one.opts, *one.secondary_opts)),
                f"{one.help or ''}{_default(one)}{_variable(one)}",
            )
        case TyperArgument():
            names, words = (one.name or "").upper(), f"{one.help or ''}{_default(one)}"
        case _:
            return ""
    plain = " ".join(Text.from_markup(words).plain.split()).replace("|", "\\|")
    return f"| `{names}` | {plain} |\n"


def _default(one: TyperOption | TyperArgument) -> str:
    """What it is when it is not named; nothing for switches, and where that is nothing."""
    value = one.show_default if isinstance(one.show_default, str) else one.default
    told = isinstance(value, str | int | float | Path) and not isinstance(value, bool) and value not in ("", 0, Path())
    return f" Default: {value}." if told else ""


def _variable(one: TyperOption) -> str:
    return f" Variable: {one.envvar}." if one.envvar else ""


def main() -> None:
    """Write the pages."""
    pages = {
        LABELS: labels_page(),
        COMMANDS: commands_page(),
        CONDITIONS_PAGE: conditions_page(),
        CONFIGURATION: configuration_page(),
        SCENARIOS: scenarios_page(),
    }
    for path, page in pages.items():
        path.write_text(page, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
