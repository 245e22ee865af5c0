"""`kuelog log show`: what is stored, filtered by stream, subject, type, object and time; live if wanted."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from rich.console import Console

from events.subjects import CONTROL
from events.timestamp import format_timestamp
from ops.cli.failures import known_failures
from ops.cli.log_options import LogSource
from ops.cli.log_reading import archive_of, bus_of, opened_log
from ops.cli.questions.log_form import LogForm
from ops.production.archive.history import end_of, read_everything
from ops.production.log.streams import LogStreams, streams_in, streams_on
from ops.queries.cloud_events import cloud_event
from ops.queries.point import Entries, NotOnTheLog, point_at
from ops.queries.shown import Showing, ShownEvent, shown_in_order
from ops.queries.time_travel import moment, span
from ops.terminal.form import AnswerForm, print_item
from projections.explanation.about import canonical, objects_of
from services.runtime.control_log import Control
from services.runtime.log_port import Stream


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the stored events are wanted; what is empty leaves all of them."""

    streams: tuple[str, ...] = ()
    subject: str = ""
    """A pattern with * such as `kuelog.log.0.admitter`."""
    types: tuple[str, ...] = ()
    object: str = ""
    since: str = ""
    until: str = ""
    limit: int = 0
    """Only the last so many."""

    def wants(self, one: ShownEvent) -> bool:
        """Whether an event passes the filter; its time is looked at elsewhere."""
        if self.streams and one.entry.stream not in self.streams:
            return False
        if self.subject and not fnmatchcase(one.entry.subject, self.subject):
            return False
        name = _name(one)
        if self.types and not any(fnmatchcase(name.lower(), wanted.lower()) for wanted in self.types):
            return False
        return not self.object or any(fnmatchcase(each, canonical(self.object)) for each in _objects(one))


def run_log_show(source: LogSource, wanted: Filter, *, follow: bool, output: LogForm, console: Console) -> int:
    """Print what passes; 1 when nothing does. With `follow` go on until Ctrl-C."""
    with known_failures() as outcome:
        if follow:
            asyncio.run(_follow(source, wanted, output, console))
        passes = False
        with opened_log(source) as entries:
            _check(wanted, streams_in(entries))
            for one in _found(entries, wanted):
                passes = True
                _print(one, output, console)
        if not passes and output is LogForm.TEXT:
            console.print("nothing on the log passes this filter")
        outcome.code = 0 if passes else 1
    return outcome.code


def _check(wanted: Filter, there: LogStreams) -> None:
    unknown = [name for name in wanted.streams if name not in there.every]
    if unknown:
        raise NotOnTheLog(f"there is no stream {unknown[0]}: write one of {', '.join(there.every)}")


def _found(entries: Entries, wanted: Filter) -> Iterator[ShownEvent]:
    began, _ = span(entries)
    point = point_at(entries, wanted.until)
    since = moment(wanted.since, began) if wanted.since else began
    passing = (one for one in shown_in_order(point.entries) if one.at >= since and wanted.wants(one))
    return iter(deque(passing, maxlen=wanted.limit) if wanted.limit else passing)


async def _follow(source: LogSource, wanted: Filter, output: LogForm, console: Console) -> None:
    """What comes from now on, as it comes."""
    async with bus_of(source) as bus:
        there = await streams_on(bus)
        _check(wanted, there)
        streams = [await bus.stream(name) for name in wanted.streams or there.every]
        control = Control((await read_everything(bus, await archive_of(source, bus), (CONTROL,)))[CONTROL])
        async with asyncio.TaskGroup() as tasks:
            for stream in streams:
                end = await end_of(stream)
                tasks.create_task(_follow_one(stream, end, wanted, control, output, console))


async def _follow_one(
    stream: Stream, after: int, wanted: Filter, control: Control, output: LogForm, console: Console
) -> None:
    showing = Showing(control)
    async for batch in stream.follow(after):
        for entry in batch:
            if entry.stream == CONTROL:
                control.take([entry])
            for one in showing.shown(entry):
                if wanted.wants(one):
                    _print(one, output, console)


def plain(one: ShownEvent) -> dict[str, Any]:
    """A stored event as plain values."""
    return {
        "stream": one.entry.stream,
        "sequence": one.entry.sequence,
        "index": one.index,
        "subject": one.entry.subject,
        "at": one.at,
        "author": one.author,
        "cause": one.cause,
        "trace": one.entry.trace,
        "mark": one.mark,
        "event": msgspec.to_builtins(one.event),
    }


def _print(one: ShownEvent, output: LogForm, console: Console) -> None:
    match output:
        case LogForm.TEXT:
            _print_line(one, console)
        case LogForm.JSON | LogForm.YAML:
            print_item(plain(one), AnswerForm(output))
        case LogForm.CLOUDEVENTS:
            print_item(cloud_event(one), AnswerForm.JSON)


def _print_line(one: ShownEvent, console: Console) -> None:
    about = next(iter(_objects(one)), "")
    fields: dict[str, Any] = msgspec.to_builtins(one.event) or {}
    shown = ", ".join(f"{name}={_short(value)}" for name, value in fields.items() if name not in ("type", "workload"))
    place = f"{one.entry.stream}/{one.entry.sequence}"
    line = f"{format_timestamp(one.at)} {place:<20} {one.author:<13} {_name(one)} {about} {shown}"
    console.print(line.rstrip(), markup=False, highlight=False, soft_wrap=True)
    if one.mark:
        console.print(f"  {one.mark}", style="red", markup=False, highlight=False, soft_wrap=True)


def _name(one: ShownEvent) -> str:
    return type(one.event).__name__ if one.event is not None else "?"


def _objects(one: ShownEvent) -> Iterable[str]:
    return objects_of(one.event) if one.event is not None else ()


def _short(value: Any, most: int = 60) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= most else f"{text[: most - 1]}…"
