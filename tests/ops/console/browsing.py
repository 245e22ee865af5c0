"""A real browser that shows a console, for tests: what it draws, what is pressed in it, and what axe finds there.

Needs Debian's chromium and chromium-driver; without them every test that asks for it is skipped, and says so.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.ops.console.served import PATIENCE_S, Console

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: no page is tried in a browser")
keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
chains = pytest.importorskip("selenium.webdriver.common.action_chains").ActionChains
service = pytest.importorskip("selenium.webdriver.chrome.service").Service
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="no chromium and chromedriver on this machine: no page is tried in a browser (apt-get install chromium-driver)",
)
T = TypeVar("T")
PAGES = {
    "overview": "Overview",
    "queues": "Queues",
    "workloads": "Workloads",
    "workloads/day/w1": "day/w1",
    "cards": "Cards",
    "topology": "Topology",
    "clusters": "Clusters",
    "gantt": "Gantt",
    "preemptions": "Preemptions",
    "bills": "Bills",
    "whatif": "What if",
    "log": "Log",
}
THEMES = ("light", "dark")
_FARTHEST = 150
AXE = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]


class Browser:
    """A browser that shows a console."""

    def __init__(self, console: Console, driver: Any, pictures: Path) -> None:
        self.console, self._driver, self._pictures = console, driver, pictures
        pictures.mkdir(parents=True, exist_ok=True)

    async def do(self, what: Callable[[Any], T]) -> T:
        """What the driver answers; the console is served meanwhile."""
        return await asyncio.to_thread(what, self._driver)

    async def open(self, page: str) -> None:
        """Show a page, and wait until it is drawn as of its moment."""
        await self.do(lambda one: one.get(f"http://127.0.0.1:{self.console.port}/#/{page}"))
        name = page.partition("?")[0]
        titled = PAGES.get(name) or name.removeprefix("workloads/")
        await self.until(lambda: f"document.querySelector('h1')?.textContent === {titled!r}")
        shown = "The past. As of" if "?at=" in page else "As of"
        await self.until(lambda: f"document.getElementById('as-of').textContent.includes({shown!r})")

    async def until(self, condition: Callable[[], str]) -> None:
        """Wait until a condition of the page holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not await self.ask(condition()):  # noqa: ASYNC110 - only the page can tell
                await asyncio.sleep(0.05)

    async def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        return await self.do(lambda one: one.execute_script(f"return {expression}"))

    async def press(self, text: str) -> None:
        """Press keys, wherever the focus is."""
        await self.do(lambda one: chains(one).send_keys(text).perform())

    async def walk(self, count: int) -> None:
        """Press Tab so many times."""
        await self.press(keys.TAB * count)

    async def walk_to(self, selector: str) -> None:
        """Press Tab until what has the focus is of a selector, as somebody would without a mouse."""
        for _ in range(_FARTHEST):
            await self.walk(1)
            if await self.ask(f"document.activeElement.matches({selector!r})"):
                return
        raise AssertionError(f"{selector} is not reached with Tab")

    async def screenshot(self, name: str) -> None:
        """Leave a picture of the page, where somebody wants to look at them (`KUELOG_SCREENSHOTS`) or with the test's files."""
        await self.do(lambda one: one.save_screenshot(str(self._pictures / f"{name}.png")))

    async def errors(self) -> list[str]:
        """What the browser has complained of since it was last asked."""
        return await self.do(lambda one: [entry["message"] for entry in one.get_log("browser")])


@asynccontextmanager
async def browsing(console: Console, folder: Path) -> AsyncGenerator[Browser, None]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for one in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--window-size=1280,1000",
        f"--user-data-dir={folder}",
    ):
        options.add_argument(one)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = await asyncio.to_thread(lambda: webdriver.Chrome(options=options, service=service(DRIVER)))
    driver.set_script_timeout(PATIENCE_S)
    try:
        yield Browser(console, driver, Path(os.environ.get("KUELOG_SCREENSHOTS") or folder.parent / "screenshots"))
    finally:
        await asyncio.to_thread(driver.quit)


async def violations(browser: Browser, theme: str) -> list[Any]:
    """What axe finds on the page as it stands."""
    script = files("axe_playwright_python").joinpath("axe.min.js").read_text()
    await browser.do(lambda one: one.execute_script(f"document.documentElement.dataset.theme = {theme!r};\n{script}"))
    return await browser.do(
        lambda one: one.execute_async_script(
            "const done = arguments[1]; axe.run(document, {runOnly: arguments[0]}).then("
            "found => done(found.violations.map(one => [one.id, one.nodes.map(node => node.html)])))",
            AXE,
        )
    )
