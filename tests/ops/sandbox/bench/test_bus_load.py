"""`kuelog bench bus` as a user calls it, on a real bus."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from events.codec import decode_commit
from events.subjects import CONTROL, FACTS
from ops.cli.main import app
from ops.sandbox.bench.bus_load import messages_of_life


def test_what_is_sent_is_a_log_whose_workloads_are_admitted_and_end() -> None:
    platform, lives = messages_of_life(20)
    assert {one.stream for one in platform} == {FACTS}
    facts = [one.subject.rpartition(".")[2] for one in lives if one.stream == FACTS]
    assert facts.count("WorkloadSubmitted") == facts.count("WorkloadFinished") == facts.count("WorkloadDeleted") == 20
    decided = [one for one in lives if one.stream not in (FACTS, CONTROL)]
    events = [type(event).__name__ for one in decided for event in decode_commit(one.data).events]
    assert events.count("WorkloadAdmitted") >= 20
    for name in {one.stream for one in decided}:
        assert [one.sequence for one in decided if one.stream == name] == list(
            range(1, 1 + sum(one.stream == name for one in decided))
        )


@pytest.mark.timeout(180)
@pytest.mark.parametrize("servers", [1, 3])
async def test_every_message_of_every_cluster_is_stored_once(servers: int) -> None:
    words = ("bench", "bus", "--clusters", "3", "--rate", "30", "--seconds", "2", "--servers", str(servers))
    done = await asyncio.to_thread(CliRunner().invoke, app, [*words, "-o", "json"])
    assert done.exit_code == 0, done.output
    [row] = json.loads(done.stdout)["rows"]
    assert row["messages"] == 3 * len(messages_of_life(20)[1]), "an append that finds another end fails"
    assert row["servers_cpu"] > 0 and row["servers_peak_mib"] > 0


def test_a_bus_of_two_servers_is_refused() -> None:
    done = CliRunner().invoke(app, ["bench", "bus", "--servers", "2"])
    assert done.exit_code == 2
    assert "1 or 3 servers, not 2" in done.output
