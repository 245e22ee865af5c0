"""`kuelog deploy`: what an installation in a cluster needs besides its manifests."""

import asyncio
import base64
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ops.terminal.console import terminal
from ops.terminal.endings import complain

deploy_app = typer.Typer(help="Install kuelog in a cluster.", no_args_is_help=True)
console = terminal()


Partitions = Annotated[
    int, typer.Option(min=1, help="How many partitions of trees the log has, as under partitions: of the values.")
]


Sites = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="A site whose log is copied here, which so becomes a hub (docs/sites.md); repeatable."
    ),
]


@deploy_app.command()
def secret(
    namespace: Annotated[str, typer.Option(help="Where kuelog is installed.")] = "kuelog-system",
    partitions: Partitions = 1,
    site: Sites = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="The Secrets as they are now, from kubectl get secret -o yaml or as they were printed here (- for standard input): what they hold stays, what is missing is added."
        ),
    ] = None,
    bus: Annotated[
        str,
        typer.Option(help="Where readers of the copies of sites reach the bus; tls://HOST:PORT where it speaks TLS."),
    ] = "kuelog-nats:4222",
) -> None:
    """Print two Secrets: a fresh password for each user of the bus, and the token for who fetches metrics; at a hub a third, with where the copies of its sites are read.

    Example: kuelog deploy secret | kubectl apply -f -
    """
    from ops.files.manifests import ManifestBroken  # noqa: PLC0415
    from ops.files.yaml_text import yaml_text  # noqa: PLC0415
    from ops.production.deploy.bus import users_of  # noqa: PLC0415 - a command loads what it needs
    from ops.production.deploy.deployments import SITES_SECRET, TOKEN_SECRET  # noqa: PLC0415
    from ops.production.deploy.on_bus import USERS_SECRET  # noqa: PLC0415
    from ops.production.log.sites import SiteRefused, users_of_site  # noqa: PLC0415
    from ops.production.log.streams import streams_of  # noqa: PLC0415

    try:
        there = _held(keep) if keep is not None else {}
    except ManifestBroken as problem:
        raise typer.Exit(complain(problem)) from problem
    except ValueError as problem:
        raise typer.Exit(complain(f"{keep}: {problem}")) from problem
    # Letters and digits only: they stand in URLs and in the server's configuration.
    try:
        of_sites = [one for name in site or () for one in users_of_site(name)]
    except SiteRefused as problem:
        raise typer.BadParameter(str(problem)) from problem
    passwords = {one.name: f"p{secrets.token_hex(24)}" for one in (*users_of(streams_of(partitions)), *of_sites)}
    passwords |= {name: text for name, text in there.get(USERS_SECRET, {}).items() if name in passwords}
    held = {USERS_SECRET: passwords, TOKEN_SECRET: {"token": secrets.token_hex(24)}}
    if site:
        held[SITES_SECRET] = {"addresses": " ".join(f"{one}={_reader(one, passwords, bus)}" for one in site)}
        there.pop(SITES_SECRET, None)
    values: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace},
            "type": "Opaque",
            "stringData": {**texts, **there.get(name, {})},
        }
        for name, texts in held.items()
    ]
    print(yaml_text(values), end="")  # noqa: T201 - it is meant for kubectl


def _held(path: Path) -> dict[str, dict[str, str]]:
    """What Secrets hold, by their name, as the API server has them or as this command has printed them. Raises `ManifestBroken`, `ValueError`."""
    from ops.files.manifests import read_objects  # noqa: PLC0415

    found: dict[str, dict[str, str]] = {}
    for document in read_objects([path]):
        one = document.value
        if one["kind"] != "Secret":
            raise ValueError("it holds no Secret: write what kubectl get secret NAME -o yaml prints")
        decoded = {key: base64.b64decode(text).decode() for key, text in (one.get("data") or {}).items()}
        name = (one.get("metadata") or {}).get("name")
        if not isinstance(name, str):
            raise ValueError("a Secret in it has no name: write metadata.name")
        found[name] = {**decoded, **(one.get("stringData") or {})}
    return found


def _reader(site: str, passwords: Mapping[str, str], bus: str) -> str:
    """As whom and where the copy of a site is read."""
    from ops.production.log.sites import reader_user  # noqa: PLC0415

    scheme, _, host = bus.rpartition("://")
    return f"{scheme or 'nats'}://{reader_user(site)}:{passwords[reader_user(site)]}@{host}"


@deploy_app.command()
def bus_values(
    partitions: Partitions = 1,
    site: Sites = None,
    join_as: Annotated[
        str,
        typer.Option(metavar="NAME", help="What this site is called at its hub, which the Secret kuelog-hub names."),
    ] = "",
    certificate: Annotated[
        str,
        typer.Option(
            metavar="SECRET",
            help="The Secret with tls.crt, tls.key and ca.crt of the servers of the bus, which then speak TLS alone.",
        ),
    ] = "",
    hub_authority: Annotated[
        bool,
        typer.Option("--hub-authority", help="The Secret kuelog-hub holds the authority of the hub too, under ca.crt."),
    ] = False,
    max_bytes: Annotated[int, typer.Option(min=0, help="As under bus.maxBytes, where that is more than 4 GiB.")] = 0,
) -> None:
    """Print the values for the chart of NATS, with the rights of every user of the bus: for Helm, beside values of your own.

    Example: kuelog deploy bus-values --partitions 4 > nats.yaml && helm upgrade kuelog CHART -f mine.yaml -f nats.yaml
    """
    from ops.files.yaml_text import yaml_text  # noqa: PLC0415
    from ops.production.deploy.bus import BusLinks  # noqa: PLC0415
    from ops.production.deploy.nats import chart_values  # noqa: PLC0415
    from ops.production.log.sites import SiteRefused  # noqa: PLC0415
    from ops.production.log.streams import streams_of  # noqa: PLC0415

    links = BusLinks(sites=tuple(site or ()), join_as=join_as, certificate=certificate, hub_authority=hub_authority)
    try:
        values = chart_values(streams_of(partitions), links, max_bytes)
    except SiteRefused as problem:
        raise typer.BadParameter(str(problem)) from problem
    ours = {"bus": {"scheme": "tls", "certificate": certificate}} if certificate else {}
    print(yaml_text([{**ours, "nats": values}]), end="")  # noqa: T201 - it is meant for Helm


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
    from ops.production.deploy.chart import CHOICES, ChoiceRefused  # noqa: PLC0415
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
    except (ConfigurationBroken, ChoiceRefused) as problem:
        raise typer.Exit(complain(problem)) from problem
    print(yaml_text([one for part in found.values() for one in part]), end="")  # noqa: T201 - it is meant for kubectl


@deploy_app.command()
def streams(
    nats: Annotated[str, typer.Option(help="The bus.", envvar="KUELOG_NATS")] = "nats://127.0.0.1:4222",
    replicas: Annotated[int, typer.Option(min=1, max=5, help="On how many servers each stream is held.")] = 3,
    max_bytes: Annotated[int, typer.Option(min=1, help="How large each stream may become.")] = 4 << 30,
    partitions: Partitions = 1,
) -> None:
    """Create the streams of the log where they are not there yet, and divide a log that is still empty.

    A log that is in use is divided by `kuelog log partition`, once the streams are there.

    Example: kuelog deploy streams --nats nats://streams:PASSWORD@nats:4222 --replicas 3
    """
    from ops.cli.failures import known_failures  # noqa: PLC0415

    with known_failures() as outcome:
        asyncio.run(_create(nats, replicas, max_bytes, partitions))
        outcome.code = 0
    raise typer.Exit(outcome.code)


async def _create(nats: str, replicas: int, max_bytes: int, partitions: int) -> None:
    from events.subjects import FACTS  # noqa: PLC0415
    from ops.production.log.jetstream.bus import connect  # noqa: PLC0415
    from ops.production.log.partitioning import divide_new  # noqa: PLC0415
    from ops.production.log.streams import streams_of  # noqa: PLC0415
    from ops.production.process.clock import ScaledClock  # noqa: PLC0415

    bus = await connect(nats, replicas=replicas, max_bytes=max_bytes)
    try:
        await bus.shelf.prepare()
        await bus.leases.prepare()
        # Facts come as soon as there is room for them: by then the log is to be what they find divided.
        *others, facts = sorted(streams_of(partitions).witnessed, key=FACTS.__eq__)
        for name in others:
            await bus.stream(name)
        said = await divide_new(bus, partitions, ScaledClock().now())
        for name in (*others, facts):
            stream = await bus.stream(name)
            console.print(f"{name}: there, at sequence {(await stream.last()).sequence}", highlight=False)
        if said:
            console.print(said, highlight=False)
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
        nested = isinstance(below[name], dict) and f"{path}{name}" not in _FREE
        found[name] = _over(below[name], value, f"{path}{name}.") if nested else value
    return found


_FREE = frozenset(
    {
        "resources",
        "nodeSelector",
        "configuration",
        "witness.volume",
        "archivist.volume",
        "multiKueue.kubeconfigs",
        "multiKueue.plugins",
        "crds.annotations",
    }
)
"""The mappings whose names are not ours."""
