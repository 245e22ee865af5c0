"""`kuelog backup`, `kuelog restore` and `kuelog log roll`: what keeps a log alive for long."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.log_options import Archive, Bus, Data, HandOut, LogSource, Timestamp
from ops.terminal.console import terminal
from ops.terminal.endings import complain

if TYPE_CHECKING:
    from ops.production.log.jetstream.bus import JetStreamBus

console = terminal()
Witness = Annotated[Path | None, typer.Option(help="The folder of the head witness; else in the folder of --data.")]


def backup(
    to: Annotated[str, typer.Argument(help="An empty folder, or any address that fsspec knows.")],
    data: Data = None,
    nats: Bus = "",
    witness: Witness = None,
    archive: Archive = "",
) -> None:
    """Sign what there is and copy all of it, to a common end: streams, archive, witness with its private key, saved worlds.

    The log may run meanwhile. Whoever holds a backup can sign in the name of this log: keep it as you keep a key.

    Example: kuelog backup /mnt/backup/today --data .kuelog/up
    """
    from ops.cli.failures import known_failures  # noqa: PLC0415
    from ops.production.archive.backup import make_backup  # noqa: PLC0415

    source = LogSource(data=data, nats=nats, archive=archive)

    async def make() -> int:
        async with bus_here(source) as bus:
            folder, stored = _beside(source, witness)
            found = await make_backup(bus, folder, stored, to, lambda text: console.print(f"  {text}", style="dim"))
            return sum(one.last for one in found.streams.values())

    with known_failures() as outcome:
        console.print(f"{asyncio.run(make()):,} messages backed up to {to}", highlight=False)
        outcome.code = 0
    raise typer.Exit(outcome.code)


def restore(
    source: Annotated[str, typer.Argument(help="What `kuelog backup` has written.")],
    data: Annotated[Path | None, typer.Option(help="The folder to restore to, with a bus of its own.")] = None,
    nats: Annotated[str, typer.Option(help="A running, empty bus to restore to instead.")] = "",
    witness: Witness = None,
    archive: Annotated[str, typer.Option(help="Where the archive goes; else into the folder of --data.")] = "",
    replicas: Annotated[int, typer.Option(min=1, max=5, help="On how many servers each stream is held.")] = 1,
    max_bytes: Annotated[int, typer.Option(min=1, help="How large each stream may become.")] = 4 << 30,
    trust: Annotated[list[str] | None, typer.Option(help="The fingerprint of a key that is known to be right.")] = None,
    force: Annotated[bool, typer.Option(help="Remove the log that is there.")] = False,
) -> None:
    """Prove a backup, put it onto an empty bus with all of its sequences, and read it back; then services go on from it.

    No service may run meanwhile.

    Example: kuelog restore /mnt/backup/today --data .kuelog/up
    """
    from ops.cli.failures import known_failures  # noqa: PLC0415
    from ops.cli.log_reading import tell_waiting  # noqa: PLC0415
    from ops.production.archive.errors import BackupRefused  # noqa: PLC0415
    from ops.production.archive.restore import restore_backup  # noqa: PLC0415
    from ops.production.log.jetstream.bus import connect  # noqa: PLC0415

    async def put_back() -> None:
        if data is None and (not nats or witness is None or not archive):
            raise BackupRefused("name the folder to restore to with --data, or --nats, --witness and --archive")
        folder, stored = _beside(LogSource(data=data, nats=nats, archive=archive), witness)
        async with _server(data, nats) as url:
            bus = await connect(url, replicas=replicas, max_bytes=max_bytes, waiting=tell_waiting)
            try:
                report = lambda text: console.print(f"  {text}", style="dim", highlight=False)  # noqa: E731
                await restore_backup(source, bus, folder, stored, trust=trust or (), force=force, report=report)
            finally:
                await bus.close()

    with known_failures() as outcome:
        asyncio.run(put_back())
        console.print(f"restored and read back: {source}", highlight=False)
        outcome.code = 0
    raise typer.Exit(outcome.code)


def roll(
    data: Data = None,
    nats: Bus = "",
    witness: Witness = None,
    archive: Archive = "",
    now: Annotated[bool, typer.Option(help="Roll every stream, however small it is.")] = False,
    max_bytes: Annotated[
        int, typer.Option(min=0, help="Roll streams that hold so much; a quarter of their limit when 0.")
    ] = 0,
    days: Annotated[
        int, typer.Option(min=0, help="Roll streams whose first message is so old; at any age when 0.")
    ] = 0,
    hub_copies: Annotated[
        bool,
        typer.Option(
            "--hub-copies",
            envvar="KUELOG_HUB_COPIES",
            help="This is the log of a site: remove only what the copy at the hub has (docs/sites.md).",
        ),
    ] = False,
    hand_out: HandOut = None,
    timestamp: Timestamp = "",
) -> None:
    """Have streams that are large or old enough go on in fresh ones, archive the old, and remove what is proved and done.

    `kuelog up` does so by itself; where services run apart, have a job do it. May be broken off and repeated.

    Example: kuelog log roll --nats nats://archivist:PASSWORD@nats:4222 --witness /var/lib/kuelog --archive s3://bucket/kuelog
    """
    from ops.cli.failures import known_failures  # noqa: PLC0415
    from ops.production.archive.archivist import RollLimits, archivist_of  # noqa: PLC0415
    from ops.production.archive.proof.handing_out import HandingOut  # noqa: PLC0415
    from ops.production.log.jetstream.generations import generations  # noqa: PLC0415
    from ops.production.log.streams import streams_on
    from ops.production.process.clock import ScaledClock  # noqa: PLC0415
    from services.runtime.log_errors import LogUnavailable  # noqa: PLC0415

    source = LogSource(data=data, nats=nats, archive=archive)

    async def look() -> list[str]:
        folder, stored = _beside(source, witness)
        async with bus_here(source) as bus:
            rolled = (await streams_on(bus)).rolled
            for name in rolled:
                # Its user may create streams, and would create them as they are on one server.
                if not await generations(bus.client, name):
                    raise LogUnavailable(stream=name, problem="it is not there yet: `kuelog deploy streams` creates it")
            limits = RollLimits(bytes=max_bytes, days=days, copied=hub_copies)
            archivist = archivist_of(bus, folder.parent, witness=folder, archive=stored, limits=limits)
            await archivist.sign()
            await archivist.look(ScaledClock().now(), force=now)
            for name in rolled:
                held = [one for one in await generations(bus.client, name) if one.last >= one.first]
                parts = [f"{one.name} {one.first}–{one.last}" for one in held] or ["empty"]
                console.print(f"{name}: {', then '.join(parts)}", highlight=False)
            for why in archivist.kept.values():
                console.print(f"  {why}", style="dim", highlight=False)
            handing_out = HandingOut(folder, hand_out or (), timestamp)
            await handing_out.look(ScaledClock().now())
            return [*([archivist.problem] if archivist.problem else []), *handing_out.worth_knowing]

    with known_failures() as outcome:
        problems = asyncio.run(look())
        for problem in problems:
            complain(problem)
        outcome.code = 1 if problems else 0
    raise typer.Exit(outcome.code)


def _beside(source: LogSource, witness: Path | None) -> tuple[Path, str]:
    """The folders of the witness and of the archive. Raises `FolderUnreadable`."""
    from ops.production.archive.archivist import ARCHIVE  # noqa: PLC0415
    from ops.production.archive.errors import FolderUnreadable  # noqa: PLC0415
    from ops.production.log.jetstream.bus import without_password  # noqa: PLC0415

    folder = source.folder.resolve() if source.folder is not None else None
    if witness is None and folder is None:
        raise FolderUnreadable(
            without_password(source.nats), "name the folder of its checkpoints with --witness: it is not on the bus"
        )
    return witness or (folder or Path()) / "witness", source.archive or (str(folder / ARCHIVE) if folder else "")


@asynccontextmanager
async def bus_here(source: LogSource) -> "AsyncGenerator[JetStreamBus, None]":
    """The bus itself, for what is more than reading."""
    from ops.cli.log_reading import bus_of  # noqa: PLC0415
    from ops.production.log.jetstream.bus import JetStreamBus  # noqa: PLC0415

    alone = LogSource(data=source.folder, nats=source.nats)
    async with bus_of(alone) as bus:
        assert isinstance(bus, JetStreamBus), "commands speak with a real bus"
        yield bus


@asynccontextmanager
async def _server(data: Path | None, nats: str) -> AsyncGenerator[str, None]:
    """Where the bus takes connections; one in a folder is held as long as it is used. Raises `FolderHeld`."""
    from ops.files.run_folder import held, keep_from_demos  # noqa: PLC0415
    from ops.production.log.server.server import NatsServer  # noqa: PLC0415

    if nats or data is None:
        yield nats
        return
    with held(data.resolve()):
        keep_from_demos(data.resolve())
        server = NatsServer(data.resolve() / "nats")
        await server.start()
        try:
            yield server.url
        finally:
            await server.stop()
