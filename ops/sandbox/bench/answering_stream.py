"""A stream of a bus whose servers have just started: three of them take a moment to agree on who leads it."""

import asyncio

from ops.sandbox.bench.problems import NotMeasured
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Bus, Stream

_LOOK_S, _PATIENCE_S = 0.25, 60.0
_LOOKS = round(_PATIENCE_S / _LOOK_S)


async def answering_stream(bus: Bus, name: str) -> Stream:
    """The stream, as soon as it answers. Raises `NotMeasured`."""
    problem = "it does not answer"
    for _ in range(_LOOKS):
        try:
            return await bus.stream(name)
        except LogUnavailable as away:
            problem = str(away)
            await asyncio.sleep(_LOOK_S)
    raise NotMeasured("starting the bus", 1, problem)
