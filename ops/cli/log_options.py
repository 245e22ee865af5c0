"""Where the log is that a command asks: the options by which a person says so, the same on every command."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

DEMO = Path(".kuelog/demo")

Data = Annotated[
    Path | None, typer.Option(help="The folder that a run keeps its log and cluster in.", show_default=str(DEMO))
]
Bus = Annotated[str, typer.Option(help="A running bus instead of a folder, e.g. nats://127.0.0.1:4222.")]
Archive = Annotated[
    str,
    typer.Option(
        help="An archive of the log: a folder, or any address that fsspec knows, e.g. s3://bucket/kuelog. Alone it needs no "
        "bus; with --data or --nats what the log holds behind it is read on."
    ),
]

HandOut = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PLACE",
        envvar="KUELOG_HAND_OUT",
        show_envvar=False,
        help="Where checkpoints are handed out by themselves: a folder, an address that fsspec knows, one of HTTP that takes a POST, or nats://HOST:PORT/SUBJECT; repeatable.",
    ),
]
Timestamp = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="KUELOG_TIMESTAMP",
        show_envvar=False,
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
