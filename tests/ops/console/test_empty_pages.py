"""What a page says where there is nothing to show, or where it can't be shown: what is to be done about it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import pytest

from events.quota import NamespaceObserved
from ops.sandbox.bench.day import BEGINS
from ops.sandbox.bench.partitions import RecordedPartitions
from services.runtime.log_port import Entry
from tests.ops.console.browsing import PAGES, THEMES, Browser, browsing, needs_browser, violations
from tests.ops.console.served import Console, served

pytestmark = needs_browser


def nothing() -> Mapping[str, Sequence[Entry]]:
    """The log of a cluster in which nobody has set anything up yet."""
    stage = RecordedPartitions()
    stage.observe(NamespaceObserved(name="default"), BEGINS)
    return stage.entries


REMEDIES = {
    "overview": (
        "A job with a queue name appears here when it is submitted.",
        "kuelog create clusterqueue",
        "registers them on a node",
    ),
    "queues": ("kuelog create clusterqueue",),
    "workloads": ("A job with a queue name appears here when it is submitted.",),
    "cards": ("registers them on a node",),
    "topology": ("Create a Topology",),
    "clusters": ("Create a MultiKueueCluster",),
    "gantt": ("when a workload gets cards",),
    "preemptions": ("A line appears here when",),
    "bills": ("when a workload gets cards", "registers them on a node"),
    "whatif": ("kuelog create clusterqueue",),
    "log": ("kuelog audit verify", "Every message counts"),
}
MOMENT = "LOG_0/999"


@pytest.fixture(params=[nothing, dict], ids=["nothing set up", "an empty log"])
async def browser(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Browser, None]:
    async with served(tmp_path, log=request.param()) as console, browsing(console, tmp_path / "browser") as found:
        yield found


@pytest.mark.parametrize("theme", THEMES)
async def test_a_page_without_anything_to_show_says_what_brings_something(browser: Browser, theme: str) -> None:
    assert REMEDIES.keys() == {page for page in PAGES if "/" not in page}
    for page, remedies in REMEDIES.items():
        await browser.open(page)
        await browser.until(lambda: "document.querySelector('#main').childElementCount > 1")
        text = await browser.ask("document.getElementById('main').textContent")
        assert [one for one in remedies if one not in text] == [], text
        assert await browser.ask("document.querySelector('#main .problem, #main [role=alert]') === null"), text
        assert await violations(browser, theme) == [], page
    await browser.open("workloads?text=nobody")
    assert await violations(browser, theme) == []
    assert await browser.errors() == []


async def test_a_page_that_can_not_be_shown_says_what_to_write_or_where_to_go(console: Console, tmp_path: Path) -> None:
    async with browsing(console, tmp_path / "browser") as browser:
        alert = "document.querySelector('#main [role=alert]')"

        async def told(address: str) -> str:
            await browser.do(lambda one: one.get(f"http://127.0.0.1:{console.port}/#/{address}"))
            await browser.until(lambda: f"{alert} !== null")
            assert await violations(browser, "dark") == [], address
            return await browser.ask(f"{alert}.textContent + ' ' + document.querySelector('#main').textContent")

        for page in PAGES:
            await browser.open(page)
            assert "has no sequence 999" in await told(f"{page}?at={MOMENT}")
            assert "Show it live" in await browser.ask("document.querySelector('#main').textContent")
            await browser.do(lambda one: one.find_element("css selector", "#main .back").click())
            await browser.until(
                lambda: "!location.hash.includes('at=') && document.querySelector('#main [role=alert]') === null"
            )
        assert "write" in await told("queues?at=soon")
        assert "All workloads" in await told("workloads/day/nobody")
        assert "Overview" in await told("nowhere")
