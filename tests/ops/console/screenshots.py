"""`python -m tests.ops.console.screenshots [DATA]`: the pictures of the README, from the log of a demo, in Debian's chromium."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.wait import WebDriverWait

from tests.places import ROOT

PICTURES = ROOT / "docs" / "pictures"
SHOTS = {"Queues": "queues?at=%2B30s", "Gantt": "gantt?at=%2B60s"}
"""By title of a page: its address, with the moment of the demo that it shows."""
SIZE = (1200, 760)
PATIENCE_S = 120


@contextmanager
def console(data: Path) -> Iterator[str]:
    """The address of a console that shows a folder."""
    kuelog = Path(sys.executable).with_name("kuelog")
    serving = subprocess.Popen(
        [kuelog, "console", "--data", str(data), "--port", "0"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert serving.stdout is not None
        for line in serving.stdout:
            if found := re.search(r"http://[\d.:]+", line):
                yield found[0]
                return
        raise SystemExit(f"kuelog console --data {data} does not serve: play the demo first (make demo)")
    finally:
        serving.terminate()
        serving.wait(timeout=PATIENCE_S)


@contextmanager
def browser(folder: str) -> Iterator[Any]:
    """Chromium without a window."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise SystemExit("no chromium and chromedriver on this machine: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for one in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(one)
    options.add_argument(f"--window-size={SIZE[0]},{SIZE[1]}")
    options.add_argument(f"--user-data-dir={folder}")
    found = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield found
    finally:
        found.quit()


def main(data: Path) -> None:
    """Write all of them."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, console(data) as address, browser(folder) as shown:
        for title, page in SHOTS.items():
            shown.get("about:blank")
            shown.get(f"{address}/#/{page}")
            WebDriverWait(shown, PATIENCE_S).until(
                lambda one, title=title: one.execute_script(
                    "return document.querySelector('h1')?.textContent === arguments[0]"
                    " && document.getElementById('as-of').textContent.includes('As of')"
                    " && document.querySelector('#main svg, #main canvas, #main table') !== null",
                    title,
                )
            )
            path = PICTURES / f"console-{title.lower()}.png"
            shown.save_screenshot(str(path))
            print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".kuelog" / "demo")
