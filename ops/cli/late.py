"""Commands whose code is loaded when they are called: what one command needs, no other has to wait for."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

LATE = {
    "adopt": ("ops.cli.adopt", "adopt"),
    "convert": ("ops.cli.convert", "convert"),
    "create": ("ops.cli.kubectl_create", "app"),
    "delete": ("ops.cli.kubectl_change", "delete_app"),
    "describe": ("ops.cli.kubectl_describe", "app"),
    "list": ("ops.cli.kubectl_list", "app"),
    "resume": ("ops.cli.kubectl_change", "resume_app"),
    "simulate": ("ops.cli.simulate", "simulate"),
    "stop": ("ops.cli.kubectl_change", "stop_app"),
}
"""Module and name of a typer app, or of a function that is a command."""


class Doors(TyperGroup):
    """The commands of kuelog: those that are at hand, and those that are fetched."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All of them, for help and completion."""
        return [*super().list_commands(ctx), *LATE]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them, loaded now if it has to be."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in LATE:
            found = _load(*LATE[cmd_name])
            found.name = cmd_name
            self.add_command(found, cmd_name)
        return found


def _load(module: str, name: str) -> Any:
    found = getattr(import_module(module), name)
    app = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        app = found
        app._add_completion = False  # pyright: ignore[reportPrivateUsage] - kuelog has its own
    else:
        app.command()(found)
    return typer.main.get_command(app)
