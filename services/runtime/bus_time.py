"""How far ahead of the bus's own time a partition may decide."""

from events.event import Millis
from services.runtime.control_log import AHEAD, Control
from services.runtime.log_errors import LogUnavailable
from services.runtime.log_port import Stream


class BusTime:
    """Compares the local clock with the bus's time, which is asked for only when a decision would go beyond what is known of it.

    A decision may be ahead by half of what a fold accepts (`AHEAD`); the other half is for servers of the bus that disagree.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._reached: Millis = 0

    async def ahead(self, at: Millis, control: Control) -> str:
        """Why nothing may be decided at this time; empty when it may, or when the bus's time is not known."""
        if at <= self._reached:
            return ""
        try:
            latest = control.latest(await self._stream.now())
        except LogUnavailable:
            return ""  # The next append reports it.
        if latest is None:
            return ""
        self._reached = latest - AHEAD // 2
        if at <= self._reached:
            return ""
        seconds = (at - latest + AHEAD) // 1000
        return (
            f"the clock of this machine is {seconds} s ahead of the bus's: set it right. Until then nothing is decided here; "
            "other replicas go on"
        )
