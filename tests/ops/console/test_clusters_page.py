"""What the page of other clusters answers and shows: which are connected, who runs where and why, who is tried, at any moment."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from events.timestamp import format_timestamp
from ops.console.questions import OF_A_WORLD
from ops.console.rights import Forbidden, Rights
from ops.production.log.streams import PARTITION
from ops.queries.replay import fold_partition
from ops.sandbox.bench.day import BEGINS
from tests.ops.console.browsing import THEMES, Browser, browsing, needs_browser, violations
from tests.ops.console.sent_elsewhere import CHOSEN, sent_elsewhere
from tests.ops.console.served import Console, served


@pytest.fixture
async def sent(tmp_path: Path) -> AsyncIterator[Console]:
    async with served(tmp_path, log=sent_elsewhere()) as found:
        yield found


@pytest.fixture
async def sent_browser(sent: Console, tmp_path: Path) -> AsyncGenerator[Browser, None]:
    async with browsing(sent, tmp_path / "browser") as found:
        yield found


def by_name(answer: Any) -> dict[str, Any]:
    return {one["name"]: one for one in answer["data"]["clusters"]}


def standing(found: dict[str, Any]) -> dict[str, tuple[list[str], list[str]]]:
    """By cluster, who runs and who is tried there."""
    return {
        name: ([sent["workload"] for sent in one["runs"]], [sent["workload"] for sent in one["tried"]])
        for name, one in found.items()
    }


async def test_each_cluster_says_whether_it_is_connected_and_who_runs_and_is_tried_there(sent: Console) -> None:
    answer = await sent.answer("clusters")
    found = by_name(answer)
    assert {name: (one["known"], one["active"]) for name, one in found.items()} == {
        "east": (True, True),
        "north": (True, False),
        "south": (False, False),
        "west": (True, True),
    }
    assert standing(found) == {
        "east": ([], ["team/tried"]),
        "north": ([], []),
        "south": ([], []),
        "west": (["team/runs"], ["team/tried"]),
    }
    assert found["west"]["location"] == "Secret west"
    [check] = answer["data"]["checks"]
    assert (check["name"], check["reason"], check["queues"]) == ("elsewhere", "SomeActiveClusters", ["q"])


async def test_who_runs_names_the_decision_that_chose_and_who_is_tried_what_each_cluster_answers(sent: Console) -> None:
    found = by_name(await sent.answer("clusters"))
    [runs], [east], [west] = found["west"]["runs"], found["east"]["tried"], found["west"]["tried"]
    assert runs["answer"] == f"admitted since {format_timestamp(CHOSEN)}"
    assert (east["answer"], west["answer"]) == ("waits for quota", "no copy seen there yet")
    before, after = (runs["decision"], f"LOG_0/{int(runs['decision'].partition('/')[2]) - 1}")
    assert standing(by_name(await sent.answer(f"clusters?at={before}")))["west"] == (["team/runs"], [])
    assert standing(by_name(await sent.answer(f"clusters?at={after}")))["west"] == ([], ["team/runs"])


async def test_an_earlier_moment_is_what_the_command_line_prints_of_it(sent: Console) -> None:
    for at in (*(format_timestamp(BEGINS + after * 1000) for after in range(5)), "LOG_0/2"):
        printed = await sent.printed("replay", "--until", at, "--show", "clusters")
        assert (await sent.answer(f"clusters?at={at}"))["data"]["clusters"] == printed["clusters"]


@needs_browser
@pytest.mark.parametrize("theme", THEMES)
async def test_the_page_leads_to_the_workload_whose_page_says_what_other_clusters_answer(
    sent_browser: Browser, theme: str
) -> None:
    await sent_browser.open("clusters")
    await sent_browser.until(lambda: "document.getElementById('main').textContent.includes('Chosen at')")
    text = await sent_browser.ask("document.getElementById('main').textContent")
    assert "4 cluster(s), 2 not connected" in text and "there is no MultiKueueCluster of this name" in text
    assert await violations(sent_browser, theme) == []
    await sent_browser.screenshot(f"clusters-{theme}")
    await sent_browser.walk_to("#main a[href*='workloads/team/runs']")
    await sent_browser.press("\n")
    await sent_browser.until(lambda: "document.querySelector('h1')?.textContent === 'team/runs'")
    answers = "[...document.querySelectorAll('#main section')].find(one => one.querySelector('h2')?.textContent === 'Other clusters answer')"
    await sent_browser.until(lambda: f"{answers}?.textContent.includes('cluster west: admitted since')")
    assert await violations(sent_browser, theme) == []
    assert await sent_browser.errors() == []


def test_who_may_not_read_a_namespace_sees_its_workloads_in_no_cluster() -> None:
    fold, _ = fold_partition(PARTITION, sent_elsewhere())
    of: Any = SimpleNamespace(world=lambda: fold.world)
    for namespaces, seen in ((frozenset({"team"}), 3), (frozenset({"other"}), 0), (None, 3)):
        found = OF_A_WORLD["clusters"].ask(of, {}, Rights(namespaces=namespaces, queues=True))
        assert sum(len(one["runs"]) + len(one["tried"]) for one in found["clusters"]) == seen
    with pytest.raises(Forbidden):
        OF_A_WORLD["clusters"].ask(of, {}, Rights(namespaces=frozenset({"team"}), queues=False))
