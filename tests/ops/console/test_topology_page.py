"""What the pages of topologies and of borrowing answer: who stands where, what is free, and who lends to whom, at any moment."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from events.timestamp import format_timestamp
from ops.sandbox.bench.day import BEGINS
from tests.ops.console.racks import racks
from tests.ops.console.served import Console, served


@pytest.fixture
async def racked(tmp_path: Path) -> AsyncIterator[Console]:
    async with served(tmp_path, log=racks()) as found:
        yield found


def boxes(answer: Any) -> dict[str, Any]:
    [flavor] = answer["data"]["flavors"]
    assert (flavor["flavor"], flavor["topology"]) == ("racked", "racks")
    return {" ".join(one["values"]): one for one in flavor["domains"]}


async def test_each_domain_says_what_is_free_and_who_stands_there_at_any_moment(racked: Console) -> None:
    before = boxes(await racked.answer(f"topology?at={format_timestamp(BEGINS)}"))
    assert list(before) == ["rack-0", "rack-0 host-0", "rack-0 host-1", "rack-1", "rack-1 host-2", "rack-1 host-3"]
    assert before["rack-0"]["free"] == {"cpu": 16_000, "pods": 20} and before["rack-0"]["holders"] == []
    both = boxes(await racked.answer(f"topology?at={format_timestamp(BEGINS + 2000)}"))
    wide, small = (next(name for name in ("rack-0", "rack-1") if _holds(both[name], job)) for job in ("wide", "small"))
    assert {wide, small} == {"rack-0", "rack-1"}
    assert both[wide]["holders"] == [{"workload": "team/wide", "pods": 4}]
    assert both[wide]["free"] == {"cpu": 0, "pods": 16}
    assert both[small]["free"] == {"cpu": 12_000, "pods": 18}
    assert [len(one["cards"]) for one in both.values() if one["leaf"]] == [2, 2, 2, 2]
    rows = (await racked.printed("replay", "--until", format_timestamp(BEGINS + 2000), "--show", "workloads"))[
        "workloads"
    ]
    assert {one["key"] for one in rows if one["state"] == "admitted"} == {"team/wide", "team/small"}


def _holds(box: Any, job: str) -> bool:
    return any(one["workload"] == f"team/{job}" for one in box["holders"])


async def test_a_host_that_is_not_ready_is_named_and_offers_nothing(racked: Console) -> None:
    now = await racked.answer("topology")
    assert "rack-1 host-3" not in boxes(now)
    assert now["data"]["flavors"][0]["unusable"] == [{"node": "host-3", "why": "it is not ready"}]


async def test_who_borrows_from_whom_stands_beside_the_trees(racked: Console) -> None:
    [one] = (await racked.answer(f"queues?at={format_timestamp(BEGINS + 1000)}"))["data"]["lending"]
    assert (one["cohort"], one["flavor"], one["resource"], one["borrowed"]) == ("team", "racked", "cpu", 4000)
    assert one["takes"] == [{"node": "queue/left", "amount": 4000}]
    assert one["gives"] == [{"node": "queue/right", "amount": 4000}]
    assert (await racked.answer(f"queues?at={format_timestamp(BEGINS)}"))["data"]["lending"] == []


async def test_the_page_of_a_workload_says_in_which_boxes_it_stands_and_only_while_it_does(racked: Console) -> None:
    at = format_timestamp(BEGINS + 2000)
    for moment in (f"?at={at}", ""):
        stands = (await racked.answer(f"workloads/team/small{moment}"))["data"]["stands"]
        found = boxes(await racked.answer(f"topology{moment}"))
        held = {
            name: one["pods"]
            for name, box in found.items()
            for one in box["holders"]
            if box["leaf"] and one["workload"] == "team/small"
        }
        assert {" ".join(one["values"]): one["pods"] for one in stands} == held
        assert {one["flavor"] for one in stands} == {"racked"} and held
    assert (await racked.answer(f"workloads/team/wide?at={format_timestamp(BEGINS + 1000)}"))["data"]["stands"]


async def test_the_page_of_a_workload_that_finds_no_domain_names_the_nearest_with_what_is_short_there(
    racked: Console,
) -> None:
    found = (await racked.answer("workloads/team/many"))["data"]
    assert found["near"]["heading"] == "topology racks, flavor racked: 11 pod(s) of main, by rack"
    assert [(row["domain"], row["verdict"]) for row in found["near"]["rows"]] == [
        ("rack-1", "8 of 11 pod(s) fit"),
        ("rack-1/host-2", "8 of 11 pod(s) fit"),
    ]
    assert found["near"]["rows"][0]["lacks"] == ["pods: enough for 8, 3 missing; 8 free in all"]
    printed = await racked.printed("explain", "team/many")
    assert printed["domains"] == found["explanation"]["domains"]
    assert (await racked.answer("workloads/team/wide"))["data"]["near"] is None
