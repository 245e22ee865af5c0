"""docs/ as a site: it is built without a network and without a warning, and its pages load nothing from anywhere else."""

import re
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

OFFLINE = """
import sys
def refuse(event, found):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"the site asks the network: {event} {found}")
sys.addaudithook(refuse)
from mkdocs.__main__ import cli
cli()
"""
LOADED = re.compile(r'<(?:script|img|iframe)[^>]*\ssrc="?(https?:)?//|<link[^>]*\shref="?(https?:)?//')
IMPORTED = re.compile(r"@import|url\(\s*[\"']?(?:https?:)?//")


def test_the_site_is_built_without_network_or_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-c", OFFLINE, "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, (
        f"{built.stdout}{built.stderr}\n(a new page of docs/ needs a place in nav of mkdocs.yml)"
    )
    pages, styles = list(tmp_path.rglob("*.html")), list(tmp_path.rglob("*.css"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md"))), "files that pages link to are pages, too"
    assert [str(page) for page in pages if LOADED.search(page.read_text(encoding="utf-8"))] == []
    assert [str(style) for style in styles if IMPORTED.search(style.read_text(encoding="utf-8"))] == []
