"""`kuelog get`, `edit` and `patch`: handed on to kubectl word for word, as kueuectl does, with the kinds by their full names."""

import shutil
import subprocess
from collections.abc import Callable
from typing import Annotated

import typer

from ops.cli.kubectl.cluster_names import named
from ops.cli.kubectl.connection import refuse
from ops.cli.kubectl.nouns import GROUP, NOUNS, Noun

_ALL_WORDS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Every option is kubectl's, --help as well."""


def handed_on(verb: str, help_text: str) -> typer.Typer:
    """The commands of one verb, one for each kind."""
    app = typer.Typer(help=help_text, no_args_is_help=True)
    for noun in NOUNS:
        command = _command(verb, noun)
        app.command(name=noun.name, context_settings=_ALL_WORDS)(command)
        for alias in noun.aliases:
            app.command(name=alias, hidden=True, context_settings=_ALL_WORDS)(command)
    return app


def _command(verb: str, noun: Noun) -> Callable[..., None]:
    def command(
        words: Annotated[
            list[str] | None, typer.Argument(help="Names, and options of kubectl.", autocompletion=named)
        ] = None,
    ) -> None:
        kubectl = shutil.which("kubectl")
        if kubectl is None:
            raise refuse(f"kuelog {verb} hands on to kubectl, and there is no kubectl on the PATH")
        asked = [kubectl, verb, f"{noun.resource.plural}.{GROUP}", *(words or ())]
        raise typer.Exit(subprocess.run(asked, check=False).returncode)  # noqa: S603 - what was asked for, no shell

    command.__doc__ = f"As kubectl {verb} {noun.resource.plural}.{GROUP}; all options are kubectl's."
    return command


get_app = handed_on("get", "Show queues, workloads and flavors: handed on to kubectl get.")
edit_app = handed_on("edit", "Change queues, workloads and flavors in an editor: handed on to kubectl edit.")
patch_app = handed_on("patch", "Change fields of queues, workloads and flavors: handed on to kubectl patch.")
