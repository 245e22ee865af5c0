"""kueuectl's verbs on the command line of kuelog: create, list, describe, stop, resume, delete."""

import typer

from ops.cli import kubectl_create, kubectl_describe, kubectl_list
from ops.cli.kubectl_change import delete_app, resume_app, stop_app


def register(app: typer.Typer) -> None:
    """Add all of them."""
    app.add_typer(kubectl_create.app, name="create")
    app.add_typer(kubectl_list.app, name="list")
    app.add_typer(kubectl_describe.app, name="describe")
    app.add_typer(stop_app, name="stop")
    app.add_typer(resume_app, name="resume")
    app.add_typer(delete_app, name="delete")
