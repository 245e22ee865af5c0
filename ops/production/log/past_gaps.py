"""Reading what a stream holds, whatever it has lost: for whoever names what is missing, or knows it from elsewhere."""

from collections.abc import AsyncGenerator

from services.runtime.log_errors import LogGap
from services.runtime.log_port import Entry, Stream


async def read_past_gaps(stream: Stream) -> AsyncGenerator[list[Entry], None]:
    """All that a stream holds, whatever is missing in between: an audit names each gap and goes on behind it."""
    position = 0
    while True:
        try:
            async for batch in stream.read(position):
                if batch:
                    yield batch
                    position = batch[-1].sequence
        except LogGap as gap:
            if gap.found <= position:
                return
            position = gap.found - 1
            continue
        return
