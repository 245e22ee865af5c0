"""Whether the log has decided about a workload since what is about to be written: a process that reads late knows nothing of it.

Rule: docs/rules/log.md#overtaken
"""

from services.applier.decisions import Decisions
from services.applier.plan import Application


async def is_overtaken(application: Application, decisions: Decisions) -> bool:
    """Whether a later commit says something of the workload. Raises `LogUnavailable`, `MessageNotOurs`."""
    async for commit in decisions.later(application.sequence):
        if any(getattr(event, "workload", "") == application.workload for event in commit.events):
            return True
    return False
