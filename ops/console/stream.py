"""Changes as server-sent events: each has the positions on the log as its id, so a browser that comes back misses nothing."""

import asyncio
from collections.abc import Mapping

import msgspec
from aiohttp import ClientConnectionResetError, web

from ops.console.changes import EVERY_S, LogChanges, Positions, format_positions, parse_positions
from ops.console.gate import Now
from ops.console.guard import HEADERS, REFUSED

_STILL_THERE_S = 15.0
_RETRY_MS = 2000


async def streamed(request: web.Request, changes: LogChanges, rights: Now) -> web.StreamResponse:
    """Send what happens, from the event that the browser saw last, until it goes away, or may read nothing any more."""
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
    upto = await changes.moved({})
    seen = parse_positions(request.headers.get("Last-Event-ID", ""))
    try:
        if seen is None:
            seen = upto
            await _begin(request, response, _frame("begin", seen, {}))
        else:
            await _begin(request, response, b": resumed\n\n")
        while True:
            try:
                async with asyncio.timeout(_STILL_THERE_S):
                    upto = await changes.moved(seen)
            except TimeoutError:
                await rights()
                await response.write(b": still there\n\n")
                continue
            found, readable = await changes.between(seen, upto), await rights()
            content = {"changes": readable.changes(found)} if found is not None else {}
            await response.write(_frame("changes" if found is not None else "resync", upto, content))
            seen = upto
            # What happens meanwhile goes into one event: a browser draws no faster.
            await asyncio.sleep(EVERY_S)
    except (ClientConnectionResetError, *REFUSED):
        # Who may read nothing any more comes back, and is told why.
        return response


async def _begin(request: web.Request, response: web.StreamResponse, first: bytes) -> None:
    response.headers.update(HEADERS)
    await response.prepare(request)
    await response.write(f"retry: {_RETRY_MS}\n\n".encode() + first)


def _frame(event: str, upto: Positions, data: Mapping[str, object]) -> bytes:
    body = msgspec.json.encode({"sequences": dict(upto), **data})
    return f"event: {event}\nid: {format_positions(upto)}\ndata: ".encode() + body + b"\n\n"
