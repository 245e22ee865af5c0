"""Every page without a mouse: Tab reaches whatever can be used, what has the focus shows it, and what a page is for is done by key."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from events.timestamp import format_timestamp
from ops.sandbox.bench.day import BEGINS
from tests.ops.console.browsing import PAGES, Browser, browsing, keys, needs_browser
from tests.ops.console.racks import racks
from tests.ops.console.served import Console, served

pytestmark = needs_browser
USABLE = "a[href], button:not([disabled]), input, select, summary, [tabindex='0']"
FOUND = f"""(() => {{
  const named = (one) => `${{one.tagName}} ${{one.id || one.getAttribute("href") || one.getAttribute("aria-label") || one.textContent}}`;
  window.reached = new Set();
  window.unseen = [];
  document.addEventListener("focusin", (event) => {{
    window.reached.add(named(event.target));
    const style = getComputedStyle(event.target);
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) window.unseen.push(named(event.target));
  }});
  window.usable = [...document.querySelectorAll({USABLE!r})].filter((one) => one.checkVisibility()).map(named);
  return window.usable.length;
}})()"""


@pytest.fixture
async def browser(console: Console, tmp_path: Path) -> AsyncGenerator[Browser, None]:
    async with browsing(console, tmp_path / "browser") as found:
        yield found


async def test_tab_reaches_whatever_can_be_used_on_every_page_and_the_focus_is_seen(browser: Browser) -> None:
    for page in PAGES:
        await browser.open(f"{page}?at=LOG_0/90")
        await browser.until(lambda: "document.querySelector('#main .note')?.textContent !== 'It is being counted.'")
        count = await browser.ask(FOUND)
        assert count > 10
        await browser.walk(count + 10)
        assert await browser.ask("window.usable.filter((one) => !window.reached.has(one))") == [], page
        assert await browser.ask("window.unseen") == [], page


async def test_a_letter_leads_to_each_page_and_what_it_is_for_is_done_by_key(browser: Browser) -> None:
    await browser.open("overview")

    async def gone(letter: str, title: str) -> None:
        await browser.press(f"g{letter}")
        await browser.until(lambda: f"document.querySelector('h1')?.textContent === {title!r}")
        await browser.until(lambda: "document.querySelector('#main').childElementCount > 1")

    async def leads(place: str) -> None:
        await browser.until(lambda: f"location.hash.includes({place!r})")

    await gone("o", "Overview")
    await browser.walk_to("#main .figures a")
    await browser.press(keys.ENTER)
    await leads("workloads?state=")
    await gone("q", "Queues")
    await browser.press("j")
    await browser.press(keys.ENTER)
    await leads("workloads?queue=")
    await gone("w", "Workloads")
    await browser.press("/")
    await browser.press("w1")
    await leads("text=w1")
    await browser.until(
        lambda: "[...document.querySelectorAll('[data-row]')].every(row => row.textContent.includes('w1'))"
    )
    await browser.press(keys.ESCAPE)
    await browser.press("jj")
    await browser.press(keys.ENTER)
    await leads("#/workloads/day/")
    await browser.until(lambda: "document.querySelector('h1').textContent.startsWith('day/')")
    await browser.until(lambda: "document.querySelectorAll('#main [data-row]').length > 1")
    await browser.press("j")
    await browser.press(keys.ENTER)
    await leads("at=2026")
    await browser.press("l")
    await gone("c", "Cards")
    await browser.walk_to("#main h2 a")
    await browser.press(keys.ENTER)
    await leads("cards?node=")
    await gone("t", "Gantt")
    await browser.walk_to("#main a[href*='by=queue']")
    await browser.press(keys.ENTER)
    await leads("by=queue")
    await gone("p", "Preemptions")
    await browser.press("j")
    await browser.press(keys.ENTER)
    await leads("#/workloads/day/")
    await gone("b", "Bills")
    await browser.walk_to("#main p a")
    await gone("n", "Topology")
    await gone("l", "Log")
    await browser.walk_to("#main [role=region]")
    await gone("i", "What if")
    await browser.walk_to("#whatif-amount")
    await browser.press("1" + keys.ENTER)
    await browser.until(lambda: "document.querySelectorAll('.changes li').length === 1")
    await browser.walk_to("#run")
    await browser.press(keys.ENTER)
    await leads("set=")
    await browser.until(lambda: "[...document.querySelectorAll('h2')].some(one => one.textContent === 'Both outcomes')")
    assert await browser.errors() == []


async def test_a_workload_leads_to_its_boxes_and_they_lead_back(tmp_path: Path) -> None:
    async with served(tmp_path, log=racks()) as console, browsing(console, tmp_path / "browser") as browser:
        at = format_timestamp(BEGINS + 2000)
        await browser.open(f"workloads/team/wide?at={at}")
        await browser.walk_to("#main a[href*='#/topology']")
        named = await browser.ask("document.activeElement.textContent")
        await browser.press(keys.ENTER)
        await browser.until(lambda: "document.querySelectorAll('.host.held').length === 2")
        assert named.startswith("rack-") and await browser.ask("location.hash.includes('at=2026')")
        await browser.walk_to("#main [role=status] a")
        await browser.press(keys.ENTER)
        await browser.until(lambda: "document.querySelector('h1').textContent === 'team/wide'")
        await browser.until(lambda: "document.querySelectorAll(\"#main a[href*='#/topology']\").length === 2")
        assert await browser.errors() == []
