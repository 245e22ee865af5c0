"""Names of objects for whoever presses Tab: read from the facts of the log, and kept until the next time.

What is kept is read on from where it ends, so only the first Tab on a long log takes long, and it is not read further than somebody
waits. Where no bus runs nothing is said; nothing is ever written to a log.
"""

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from time import time

import msgspec
import typer

from events.timestamp import format_timestamp
from ops.cli.log_options import DEMO
from services.runtime.log_port import Entry

Completion = Callable[[typer.Context, str], list[str]]

_FRESH_S = 10.0
"""Seconds for which what is kept is told without asking anybody."""
_PATIENCE_S = 1.0
_MOST = 50_000
"""Names that are kept: the latest ones."""
_SHOWN = 200
_MONTH, _MONTHS = len("2026-01"), 12


class KnownNames(msgspec.Struct, kw_only=True):
    """The names that a log has told, and how far it was read."""

    created: str = ""
    """When the stream of facts was made: another stream has other names."""
    upto: int = 0
    at: float = 0
    names: dict[str, None] = {}
    """`kind/name` or `kind/namespace/name`, in the order in which they came."""


def objects(*kinds: str) -> Completion:
    """Completes `kind/name` of these kinds, or of all, and names of workloads alone."""

    def completed(context: typer.Context, incomplete: str) -> list[str]:
        wanted = [one for one in _names(context) if not kinds or one.partition("/")[0] in kinds]
        alone = [one.partition("/")[2] for one in wanted if one.startswith("workload/")]
        return _beginning(incomplete, wanted) or _beginning(incomplete, alone)

    return completed


def names_of(kind: str) -> Completion:
    """Completes names of one kind without it."""

    def completed(context: typer.Context, incomplete: str) -> list[str]:
        found = (one.partition("/") for one in _names(context))
        return _beginning(incomplete, (name for found_kind, _, name in found if found_kind == kind))

    return completed


def namespaces(context: typer.Context, incomplete: str) -> list[str]:
    """Completes namespaces in which anything is queued."""
    parts = (one.split("/") for one in _names(context))
    return _beginning(incomplete, sorted({one[1] for one in parts if one[0] in ("workload", "localqueue")}))


def one_of(*words: str) -> Completion:
    """Completes one of these words."""

    def completed(context: typer.Context, incomplete: str) -> list[str]:
        del context
        return _beginning(incomplete, words)

    return completed


streams = one_of("FACTS", "LOG_0", "DEVICES_default", "CONTROL")
services = one_of(
    "watcher", "queue-manager", "admitter", "preemptor", "accountant", "applier", "multikueue", "webhook", "verifier"
)


def months(context: typer.Context, incomplete: str) -> list[str]:
    """Completes the months, in UTC, that are over and in which the log goes on or begins."""
    _names(context)
    began, now = _kept(context)[1].created[:_MONTH], format_timestamp(round(time() * 1000))[:_MONTH]
    found: list[str] = []
    while began and began < now:
        found.append(began)
        year, month = (int(one) for one in began.split("-"))
        began = f"{year + month // _MONTHS:04}-{month % _MONTHS + 1:02}"
    return _beginning(incomplete, found)


def scenarios(context: typer.Context, incomplete: str) -> list[str]:
    """Completes folders that have a scenario, and those in which one may lie."""
    del context
    above = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    with suppress(OSError):
        folders = [one for one in above.iterdir() if one.is_dir() and not one.name.startswith(".")]
        names = [f"{one}" if (one / "scenario.yaml").exists() else f"{one}/" for one in folders]
        return _beginning(incomplete.removeprefix("./"), names)
    return []


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(one for one in dict.fromkeys(names) if one.startswith(incomplete))[:_SHOWN]


def _kept(context: typer.Context) -> tuple[Path, KnownNames]:
    """What is kept of the log that the words before the cursor name, the demo's where they name none."""
    nats, folder = _log_of(context)
    kept_at = _folder() / f"names-{hashlib.sha256((nats or str(folder)).encode()).hexdigest()[:16]}.json"
    return kept_at, _read(kept_at)


def _log_of(context: typer.Context) -> tuple[str, Path]:
    return context.params.get("nats") or "", Path(context.params.get("data") or DEMO).resolve()


def _names(context: typer.Context) -> Iterable[str]:
    """What is known of that log."""
    (nats, folder), (kept_at, kept) = _log_of(context), _kept(context)
    if 0 <= time() - kept.at < _FRESH_S:
        return kept.names
    # What a bus or a library has to say belongs on no line that is being typed.
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        asyncio.run(read_on(kept, nats, folder))
    kept.at = time()
    with suppress(OSError):
        from ops.files.whole_file import write_whole  # noqa: PLC0415 - seldom needed

        kept_at.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept_at, msgspec.json.encode(kept))
    return kept.names


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kuelog"


def _read(file: Path) -> KnownNames:
    try:
        return msgspec.json.decode(file.read_bytes(), type=KnownNames)
    except (OSError, msgspec.MsgspecError):
        return KnownNames()


async def read_on(kept: KnownNames, nats: str, folder: Path) -> None:
    """Take in what the facts have told since, as far as it is read in time; nothing where no bus runs."""
    from ops.files.run_folder import NATS  # noqa: PLC0415 - a name that is kept needs none of them
    from ops.production.log.jetstream.bus import connect  # noqa: PLC0415
    from ops.production.log.jetstream.generations import asked  # noqa: PLC0415
    from ops.production.log.server.server import running_server  # noqa: PLC0415
    from services.runtime.log_errors import LogGap, LogUnavailable  # noqa: PLC0415

    url = nats or (running_server(folder / NATS) if (folder / NATS).is_dir() else "")
    if not url:
        return
    with suppress(LogUnavailable, LogGap, TimeoutError):
        bus = await connect(url, patience=_PATIENCE_S)
        try:
            async with asyncio.timeout(_PATIENCE_S):
                found = await asked(bus.client, "STREAM.INFO.FACTS", {})
                if found.get("error") is not None:
                    return
                if kept.created != found["created"]:
                    kept.created, kept.upto, kept.names = found["created"], 0, {}
                async for batch in (await bus.stream("FACTS")).read(kept.upto):
                    _take(kept, batch)
        finally:
            await bus.close()


def _take(kept: KnownNames, batch: Iterable[Entry]) -> None:
    from ops.queries.stored import opened  # noqa: PLC0415
    from projections.explanation.about import objects_of  # noqa: PLC0415
    from services.runtime.control_log import Control  # noqa: PLC0415
    from services.runtime.partition.errors import MessageNotOurs  # noqa: PLC0415

    control = Control()
    for entry in batch:
        with suppress(MessageNotOurs):
            for one in opened(entry, control):
                kept.names.update((name, None) for name in objects_of(one.event) if not name.startswith("pod/"))
        kept.upto = entry.sequence
    for name in list(kept.names)[: max(0, len(kept.names) - _MOST)]:
        del kept.names[name]
