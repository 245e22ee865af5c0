"""The pages as they are shipped: whole, small, of this place alone, and nothing that comes from data is ever markup."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.ops.console.drawn import needs_node, shown
from tests.places import ROOT

PAGES = ROOT / "ops" / "console" / "pages"
SCRIPTS = sorted(PAGES.glob("*.js"))
TEXTS = [*SCRIPTS, PAGES / "index.html", PAGES / "console.css", PAGES / "icon.svg"]
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser|srcdoc")
NAMESPACE = "http://www.w3.org/2000/svg"
LONGEST = 250


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.name)
def test_a_module_is_short_says_what_it_is_and_makes_no_markup_of_data(file: Path) -> None:
    text = file.read_text()
    assert text.startswith("// @ts-check\n// ") and len(text.splitlines()) <= LONGEST
    assert MARKUP.findall(text) == []
    assert 'setAttribute("style"' not in text and " style:" not in text, (
        "the policy of the pages forbids styles in markup"
    )


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.name)
def test_nothing_is_fetched_from_elsewhere(file: Path) -> None:
    found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[\w/.-]*", file.read_text().replace(NAMESPACE, ""))
    assert found == []


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.name)
def test_what_a_module_imports_is_there(file: Path) -> None:
    for names, where in re.findall(r"import (.+?) from \"\./([\w.]+)\"", file.read_text()):
        text = (PAGES / where).read_text()
        for name in re.findall(r"\w+", names) if names.startswith("{") else ():
            assert re.search(rf"export (?:async )?(?:function|const|class) {name}\b", text), (where, name)


def test_the_first_page_has_no_script_or_style_of_its_own_and_all_that_the_scripts_look_for() -> None:
    page = (PAGES / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", page) == []
    for where in re.findall(r"(?:src|href)=\"pages/([^\"]+)\"", page):
        assert (PAGES / where).is_file()
    app = (PAGES / "app.js").read_text()
    assert set(re.findall(r"element\(\"([\w-]+)\"\)", app)) <= set(re.findall(r"\bid=\"([\w-]+)\"", page))


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine that reads scripts")
@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.name)
def test_a_script_can_be_read(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / f"{file.stem}.mjs"
    copy.write_bytes(file.read_bytes())
    done = subprocess.run(["node", "--check", str(copy)], capture_output=True, text=True, check=False)  # noqa: S607
    assert done.returncode == 0, done.stderr


@needs_node
def test_amounts_and_times_that_differ_are_told_in_the_units_of_every_other_page(tmp_path: Path) -> None:
    none = {"counts": {"came": 0, "gone": 0, "changed": 1}, "came": [], "gone": []}
    usage = {"key": "queue/q default cpu", "fields": {"used": [1500, 4000], "available": [2500, -1]}}
    row = {"key": "team/w", "fields": {"since": [1_000, 61_000], "priority": [1000, 2000]}}
    kinds = {"usage": {**none, "changed": [usage]}, "workloads": {**none, "changed": [row]}}
    data = {"before": {"at": 1}, "after": {"at": 2}, "kinds": kinds}
    text = shown(tmp_path, "differences", "#/log?with=1&at=2", data)
    for words in (
        "used 1.5 4",
        "available 2.5 no bound",
        "since 1970-01-01T00:00:01Z 1970-01-01T00:01:01Z",
        "priority 1000 2000",
    ):
        assert words in text, text


@needs_node
def test_an_address_that_says_nothing_and_a_time_without_a_date_are_shown_all_the_same(tmp_path: Path) -> None:
    data = {"entries": [], "left_out": 0, "since": 0, "until": 10**19}
    text = shown(tmp_path, "bills", "#/bills/%zz?part=entries", data)
    assert "0 entries from  to the end of time" in text
