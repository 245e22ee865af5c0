"""A browser that is driven over WebDriver, as far as a bench needs it: pages, scripts, and what its processes take."""

import asyncio
import re
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import psutil

from events.json_object import JsonObject

_STARTS_S, _ASKS_S = 60.0, 120.0
_PORT = re.compile(rb"successfully on port (\d+)")


class NoBrowser(Exception):
    """There is no browser to measure in."""

    def __init__(self) -> None:
        super().__init__("there is no chromium with chromedriver here: apt-get install chromium chromium-driver")


class Browser:
    """One window."""

    def __init__(self, session: aiohttp.ClientSession, base: str, process: psutil.Process) -> None:
        self._session, self._base, self._process = session, base, process

    async def open(self, address: str) -> None:
        """Load a page."""
        await self._ask("url", {"url": address})

    async def run(self, script: str) -> object:
        """What an asynchronous script hands to its last argument."""
        return await self._ask("execute/async", {"script": script, "args": []})

    def memory(self) -> int:
        """Bytes that the process of the page holds for itself: of all renderers the largest one."""
        found = [0]
        for one in self._process.children(recursive=True):
            try:
                if "--type=renderer" in one.cmdline():
                    found.append(one.memory_full_info().uss)
            except psutil.Error:
                continue
        return max(found)

    async def _ask(self, path: str, sent: JsonObject) -> object:
        async with self._session.post(f"{self._base}/{path}", json=sent) as answer:
            return (await answer.json())["value"]


@asynccontextmanager
async def browser(folder: Path) -> AsyncGenerator[Browser, None]:
    """A browser without a screen, with a profile of its own in a folder. Raises `NoBrowser`."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise NoBrowser
    process = await asyncio.create_subprocess_exec(driver, "--port=0", stdout=PIPE, stderr=DEVNULL)
    try:
        base = f"http://127.0.0.1:{await _port(process)}"
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_ASKS_S)) as session:
            words = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,1000"]
            options = {"binary": chromium, "args": [*words, f"--user-data-dir={folder}"]}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "timeouts": {"script": 60_000}}
            asked = {"capabilities": {"alwaysMatch": wanted}}
            async with session.post(f"{base}/session", json=asked) as answer:
                name = (await answer.json())["value"]["sessionId"]
            try:
                yield Browser(session, f"{base}/session/{name}", psutil.Process(process.pid))
            finally:
                await session.delete(f"{base}/session/{name}")
    finally:
        process.terminate()
        await process.wait()


async def _port(process: asyncio.subprocess.Process) -> int:
    """The port on which it says that it listens. Raises `NoBrowser` when it ends before."""
    assert process.stdout is not None, "its output was asked for"
    async with asyncio.timeout(_STARTS_S):
        async for line in process.stdout:
            found = _PORT.search(line)
            if found is not None:
                return int(found.group(1))
    raise NoBrowser
