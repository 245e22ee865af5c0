"""Ten thousand stretches on a log of ten thousand messages: a page draws what is in view, and no more."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from ops.console.questions import MOST_BANDS
from tests.ops.console.browsing import Browser, browsing, keys, needs_browser
from tests.ops.console.many_stretches import CARDS, NODES, many_stretches
from tests.ops.console.served import served

pytestmark = needs_browser
MOST_DRAWN = 6000
"""Elements of a page."""
STRETCHES = "document.querySelectorAll('.gantt rect.slice').length"
NAMES = "[...document.querySelectorAll('.gantt .lane title')].map((one) => one.textContent)"


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncGenerator[Browser, None]:
    async with served(tmp_path, log=many_stretches()) as console, browsing(console, tmp_path / "browser") as found:
        yield found


async def drawn(browser: Browser) -> int:
    count = await browser.ask("document.querySelectorAll('*').length")
    assert count < MOST_DRAWN
    return count


async def test_of_ten_thousand_stretches_and_messages_only_what_is_in_view_is_drawn(browser: Browser) -> None:
    answer = (await browser.console.answer("gantt"))["data"]
    assert len(answer["entries"]) == MOST_BANDS == 10_000 and answer["left_out"] > 0
    await browser.open("gantt")
    await browser.until(lambda: f"{STRETCHES} > 0")
    assert f"{MOST_BANDS} stretch(es)" in await browser.ask("document.getElementById('main').textContent")
    assert "GPU-00-0" in (await browser.ask(NAMES))[0] and len(await browser.ask(NAMES)) < NODES * CARDS / 3
    await drawn(browser)
    await browser.walk_to(".gantt-view")
    await browser.press(keys.END)
    await browser.until(lambda: f"{NAMES}.at(-1).includes('GPU-49-7')")
    assert "GPU-00-0" not in " ".join(await browser.ask(NAMES))
    below = "document.querySelector('.gantt').getBoundingClientRect().bottom - document.querySelector('.gantt-view').getBoundingClientRect().bottom"
    assert await browser.ask(f"Math.abs({below}) < 20"), "the last lane is not at the end of what is scrolled"
    await drawn(browser)
    await browser.press(keys.HOME)
    await browser.until(lambda: f"{NAMES}[0].includes('GPU-00-0')")
    await browser.screenshot("gantt-many")
    for by, lanes in (("node", NODES), ("queue", 1)):
        await browser.open(f"gantt?by={by}")
        await browser.until(lambda lanes=lanes: f"{STRETCHES} > 0 && {NAMES}.length <= {lanes}")
        await drawn(browser)
    await browser.open("log")
    messages = sum(len(entries) for entries in browser.console.log.values())
    assert messages > 10_000 and await drawn(browser) < 1000
    await browser.open("workloads")
    await drawn(browser)
    assert await browser.errors() == []
