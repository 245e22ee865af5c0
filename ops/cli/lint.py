"""`kuelog lint`: findings for people, or as JSON."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from ops.lint.check import lint
from ops.terminal.form import AnswerForm, print_answer


def run_lint(files: Sequence[Path], *, loose: bool, output: AnswerForm, console: Console) -> int:
    """1 when there is a mistake of severity error, else 0."""
    findings = lint(files, loose=loose)
    if output is not AnswerForm.TEXT:
        print_answer(findings, output)
    else:
        for one in findings:
            colour = "red" if one.severity == "error" else "yellow"
            console.print(
                f"[bold]{one.file}:{one.line}[/bold] [{colour}]{one.severity}[/{colour}] "
                f"{escape(f'{one.object}: {one.what}')} [dim]({one.code})[/dim]",
                highlight=False,
                soft_wrap=True,
            )
            for label, text in (("at", one.field), ("so", one.consequence), ("write", one.instead)):
                if text:
                    console.print(f"    {label}: {text}", highlight=False, markup=False, soft_wrap=True)
        errors = sum(1 for one in findings if one.severity == "error")
        console.print(f"{errors} error(s), {len(findings) - errors} warning(s)")
    return 1 if any(one.severity == "error" for one in findings) else 0
