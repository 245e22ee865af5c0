"""Whether the log has decided about a workload since what is about to be written: a process that reads late knows nothing of it.

Rule: docs/rules/log.md#overtaken
"""

from events.codec import decode_commit
from services.applier.plan import Application
from services.runtime.log_errors import LogGap
from services.runtime.log_port import Stream

MOST = 2000
"""So many of the last commits are looked through."""


async def is_overtaken(application: Application, decisions: Stream) -> bool:
    """Whether a later commit says something of the workload. Raises `LogUnavailable`."""
    last = await decisions.last()
    for sequence in range(max(application.sequence, last.sequence - MOST) + 1, last.sequence + 1):
        try:
            entry = await decisions.get(sequence)
        except LogGap:
            continue  # It was rolled away, and whoever reads so late begins with a saved world.
        if any(getattr(event, "workload", "") == application.workload for event in decode_commit(entry.data).events):
            return True
    return False
