"""Where the log is that a command asks: the options by which a person says so, the same on every command."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

DEMO = Path(".kuelog/demo")

BUS_VARIABLE, FOLDER_VARIABLE = "KUELOG_NATS", "KUELOG_DATA"
"""Where the log is when no option says so: a password on a command line is read by everybody on the machine."""


def _folder(context: typer.Context, value: Path | None) -> Path | None:
    """What the environment says counts where no option says where the log is; options come here before it does."""
    named = value is not None or context.params.get("nats") or context.params.get("archive")
    folder = os.environ.get(FOLDER_VARIABLE, "")
    return value if named or os.environ.get(BUS_VARIABLE) or not folder else Path(folder)


def _bus(context: typer.Context, value: str) -> str:
    named = value or context.params.get("data") or context.params.get("archive")
    return value if named else os.environ.get(BUS_VARIABLE, "")


Data = Annotated[
    Path | None,
    typer.Option(
        callback=_folder,
        help=f"The folder that a run keeps its log and cluster in; {FOLDER_VARIABLE} where nothing is named.",
        show_default=str(DEMO),
    ),
]
Bus = Annotated[
    str,
    typer.Option(
        callback=_bus,
        help="A running bus instead of a folder, e.g. nats://127.0.0.1:4222; "
        f"{BUS_VARIABLE} where no folder and no archive is named.",
    ),
]
Archive = Annotated[
    str,
    typer.Option(
        help="An archive of the log: a folder, or any address that fsspec knows, e.g. s3://bucket/kuelog. Alone it needs no "
        "bus; with --data or --nats what the log holds behind it is read on."
    ),
]

Workers = Annotated[
    list[str] | None,
    typer.Option(
        "--worker",
        metavar="NAME=PLACE",
        envvar="KUELOG_WORKER",
        help="The log of a worker cluster, by the name of its MultiKueueCluster: nats://HOST:PORT, the folder of a run, or an archive; "
        "repeatable, also for one cluster whose archive a bus goes on behind.",
    ),
]

Copies = Annotated[
    list[str] | None,
    typer.Option(
        "--site",
        metavar="NAME=ADDRESS",
        envvar="KUELOG_SITE",
        help="The copy of a site's log at this hub, by the name of the site: nats://reader-NAME:PASSWORD@HOST:PORT; repeatable.",
    ),
]

HandOut = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PLACE",
        envvar="KUELOG_HAND_OUT",
        help="Where checkpoints are handed out by themselves: a folder, an address that fsspec knows, one of HTTP that takes a POST, or nats://HOST:PORT/SUBJECT; repeatable.",
    ),
]
Timestamp = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="KUELOG_TIMESTAMP",
        help="A server of RFC 3161 that stamps what is handed out.",
    ),
]


class LogSource(msgspec.Struct, frozen=True, kw_only=True):
    """A folder, a running bus, an archive, or an archive and the folder or bus that goes on behind it."""

    data: Path | None = None
    nats: str = ""
    archive: str = ""

    @property
    def folder(self) -> Path | None:
        """The folder that was named, or the demo's where nothing was."""
        return self.data if self.data is not None or self.nats or self.archive else DEMO

    @property
    def archive_alone(self) -> bool:
        """Whether there is nothing but the archive."""
        return bool(self.archive) and not self.nats and self.data is None


def worker_sources(named: Sequence[str]) -> dict[str, LogSource]:
    """By the name of each worker cluster, where its log is. Raises `typer.BadParameter`."""
    found: dict[str, LogSource] = {}
    for text in named:
        name, equals, place = text.partition("=")
        if not (name and equals and place):
            raise typer.BadParameter(
                f"--worker {text} says nothing: write the name of a MultiKueueCluster and the place of its log, "
                "e.g. --worker w1=nats://HOST:4222 or --worker w1=FOLDER"
            )
        found[name] = _with_place(name, found.get(name, LogSource()), place)
    return found


def site_addresses(named: Sequence[str]) -> dict[str, str]:
    """By the name of each site, as whom and where its copy is read. Raises `typer.BadParameter`."""
    from ops.production.log.sites import SiteRefused, check_site  # noqa: PLC0415

    found: dict[str, str] = {}
    for text in named:
        name, _, address = text.partition("=")
        if "://" not in address:
            raise typer.BadParameter(
                f"--site {text} says nothing: write the name of a site and where its copy is read, "
                "e.g. --site east=nats://reader-east:PASSWORD@HOST:4222"
            )
        user = re.search("//(?:reader|copier)-([^:@/]+)[:@]", address)
        if user is not None and user[1] != name:
            raise typer.BadParameter(
                f"--site {name}: the address is that of the copy of {user[1]}: name the user reader-{name}, "
                f"or say --site {user[1]}=..."
            )
        try:
            found[check_site(name)] = address
        except SiteRefused as problem:
            raise typer.BadParameter(str(problem)) from problem
    return found


def _with_place(name: str, before: LogSource, place: str) -> LogSource:
    scheme, _, rest = place.partition("://")
    if rest and scheme in _BUSES:
        taken, after = bool(before.nats or before.data), msgspec.structs.replace(before, nats=place)
    elif rest or (Path(place) / "archive.json").exists():
        taken, after = bool(before.archive), msgspec.structs.replace(before, archive=place)
    else:
        taken, after = bool(before.nats or before.data), msgspec.structs.replace(before, data=Path(place))
    if taken:
        raise typer.BadParameter(f"--worker {name} is given two logs: name one bus or folder, and at most one archive")
    return after


_BUSES = frozenset({"nats", "tls", "ws", "wss"})
