"""`kuelog deploy`: what an installation in a cluster needs besides its manifests."""

import asyncio
import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from ops.terminal.console import terminal
from ops.terminal.endings import complain

deploy_app = typer.Typer(help="Install kuelog in a cluster.", no_args_is_help=True)
console = terminal()


@deploy_app.command()
def secret(
    namespace: Annotated[str, typer.Option(help="Where kuelog is installed.")] = "kuelog-system",
) -> None:
    """Print two Secrets: a fresh password for each user of the bus, and the token for who fetches metrics.

    Example: kuelog deploy secret | kubectl apply -f -
    """
    from ops.files.yaml_text import yaml_text  # noqa: PLC0415
    from ops.production.deploy.bus import USERS  # noqa: PLC0415 - a command loads what it needs
    from ops.production.deploy.deployments import TOKEN_SECRET, USERS_SECRET  # noqa: PLC0415

    # Letters and digits only: they stand in URLs and in the server's configuration.
    passwords = {one.name: f"p{secrets.token_hex(24)}" for one in USERS}
    held = {USERS_SECRET: passwords, TOKEN_SECRET: {"token": secrets.token_hex(24)}}
    values: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace},
            "type": "Opaque",
            "stringData": texts,
        }
        for name, texts in held.items()
    ]
    print(yaml_text(values), end="")  # noqa: T201 - it is meant for kubectl


@deploy_app.command()
def manifests(
    values: Annotated[Path | None, typer.Option(help="A file with what differs from the chart's values.yaml.")] = None,
    namespace: Annotated[str, typer.Option(help="Where kuelog is installed.")] = "kuelog-system",
    bus: Annotated[
        bool, typer.Option(help="With three servers of NATS; without them name yours as bus.address.")
    ] = True,
    config: Annotated[
        Path | None, typer.Option(help="A Configuration file in Kueue's format, instead of the one among the values.")
    ] = None,
) -> None:
    """Print the plain manifests for these values; webhooks and rights are those of the kinds that the configuration names.

    Example: kuelog deploy manifests --values mine.yaml --no-bus | kubectl apply -f -
    """
    from ops.files.reading import Unreadable, yaml_file  # noqa: PLC0415
    from ops.files.yaml_text import yaml_text  # noqa: PLC0415
    from ops.production.configuration.configuration_file import ConfigurationBroken, document  # noqa: PLC0415
    from ops.production.deploy.chart import CHOICES  # noqa: PLC0415
    from ops.production.deploy.chart import manifests as made  # noqa: PLC0415

    try:
        own: Any = yaml_file(values) if values is not None else {}
        chosen = _over(CHOICES, own or {}, "")
    except Unreadable as problem:
        raise typer.Exit(complain(problem)) from problem
    except ValueError as problem:
        raise typer.Exit(complain(f"{values}: {problem}")) from problem
    try:
        if config is not None:
            chosen["configuration"] = document(config)
        found = made(chosen, namespace, bus=bus)
    except ConfigurationBroken as problem:
        raise typer.Exit(complain(problem)) from problem
    print(yaml_text([one for part in found.values() for one in part]), end="")  # noqa: T201 - it is meant for kubectl


@deploy_app.command()
def streams(
    nats: Annotated[
        str, typer.Option(help="The bus.", envvar="KUELOG_NATS", show_envvar=False)
    ] = "nats://127.0.0.1:4222",
    replicas: Annotated[int, typer.Option(help="On how many servers each stream is held.")] = 3,
    max_bytes: Annotated[int, typer.Option(help="How large each stream may become.")] = 4 << 30,
) -> None:
    """Create the streams of the log where they are not there yet.

    Example: kuelog deploy streams --nats nats://streams:PASSWORD@nats:4222 --replicas 3
    """
    from ops.cli.failures import known_failures  # noqa: PLC0415

    with known_failures() as outcome:
        asyncio.run(_create(nats, replicas, max_bytes))
        outcome.code = 0
    raise typer.Exit(outcome.code)


async def _create(nats: str, replicas: int, max_bytes: int) -> None:
    from ops.production.deploy.bus import STREAMS  # noqa: PLC0415
    from ops.production.log.jetstream.bus import connect  # noqa: PLC0415

    bus = await connect(nats, replicas=replicas, max_bytes=max_bytes)
    try:
        for name in STREAMS:
            stream = await bus.stream(name)
            console.print(f"{name}: there, at sequence {(await stream.last()).sequence}", highlight=False)
        await bus.shelf.prepare()
        await bus.leases.prepare()
    finally:
        await bus.close()


def _over(below: dict[str, Any], above: Any, path: str) -> dict[str, Any]:
    """Values over the defaults; an unknown name is a mistake. Lists and free mappings are replaced whole."""
    if not isinstance(above, dict):
        raise ValueError(f"{path.rstrip('.') or 'the file'} has to be a mapping")
    found = dict(below)
    for name, value in above.items():
        if name == "nats" and not path:
            continue
        if name not in below:
            raise ValueError(f"unknown value {path}{name}; there are {', '.join(below)}")
        nested = isinstance(below[name], dict) and f"{path}{name}" in _NESTED
        found[name] = _over(below[name], value, f"{path}{name}.") if nested else value
    return found


_NESTED = frozenset({"image", "bus", "witness", "roles", "crds"})
