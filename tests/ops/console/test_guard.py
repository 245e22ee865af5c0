"""What the console answers where the log behind it can't be read."""

import json

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from events.subjects import FACTS
from ops.console.guard import Guard
from ops.production.archive.errors import (
    ArchiveDamaged,
    ArchiveGoesFurther,
    ArchiveOfAnotherLog,
    FolderUnreadable,
    HistoryIncomplete,
)
from ops.production.archive.finding import AuditFinding
from services.runtime.log_errors import LogGap, LogUnavailable
from services.runtime.partition.errors import ChainBroken


@pytest.mark.parametrize(
    "problem",
    [
        HistoryIncomplete(FACTS, 1, 500, ""),
        ArchiveDamaged("archive", AuditFinding(stream=FACTS, sequence=3, what="changed", detail="another byte")),
        ArchiveGoesFurther("archive", FACTS, 9, 5),
        ArchiveOfAnotherLog("archive", FACTS, 5),
        FolderUnreadable("archive", "is not there"),
        LogGap(stream=FACTS, expected=2, found=5),
        LogUnavailable(stream=FACTS, problem="the bus is away"),
        ChainBroken(stream="LOG_0", sequence=4, expected="a", found="b"),
    ],
    ids=lambda problem: type(problem).__name__,
)
async def test_a_log_that_cannot_be_read_is_answered_with_the_reason(problem: Exception) -> None:
    async def failing(request: web.Request) -> web.Response:
        del request
        raise problem

    app = web.Application(middlewares=[Guard(names=True, written=frozenset()).middleware()])
    app.router.add_get("/", failing)
    async with TestClient(TestServer(app)) as client:
        answer = await client.get("/")
        assert answer.status == 503
        assert json.loads(await answer.read()) == {"code": 503, "message": str(problem)}
