"""What the site shows beside docs/: each file of the project that a page links to is a page, and the links lead there."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
OUTSIDE = "project"
"""The folder of the site in which they are."""
LINK = re.compile(r"(?<=\]\()(?P<to>[^)#\s:]+)(?P<anchor>#[^)\s]*)?(?=\))")
LANGUAGES = {".json": "json", ".py": "python", ".yaml": "yaml"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each of them, and for those that they link to in turn."""
    waiting = {found for one in files.documentation_pages() for found in _outside(one.src_uri, one.content_string)}
    while waiting:
        path = waiting.pop()
        if files.get_file_from_path(_page_of(path)) is None:
            text = _text(path)
            files.append(File.generated(config, _page_of(path), content=text))
            waiting |= _outside(_page_of(path), text)
    return files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the entries of the navigation that name a folder."""
    for entry in config.nav or []:
        for title, to in entry.items():
            if isinstance(to, str) and to.endswith("/"):
                found = sorted((ROOT / "docs" / to).glob("*.md"), key=lambda one: (one.name != "README.md", one.name))
                entry[title] = [f"{to}{one.name}" for one in found]
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text with its links to files of the project as links to their pages."""
    del config, files
    here = page.file.src_uri

    def link(found: re.Match[str]) -> str:
        path = _linked(here, found["to"])
        if path is None:
            return found[0]
        return posixpath.relpath(_page_of(path), posixpath.dirname(here)) + (found["anchor"] or "")

    return LINK.sub(link, markdown)


def _outside(page: str, markdown: str) -> set[str]:
    """The files and folders that are not under docs/ and that a page of the site links to."""
    found = (_linked(page, one["to"]) for one in LINK.finditer(markdown))
    return {path for path in found if path is not None and not path.startswith("docs/")}


def _linked(page: str, link: str) -> str | None:
    """The path from the root of the project to what a link leads to; None where links need no change, or lead nowhere."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(_path_of(page)), link))
    between_docs = path.startswith("docs/") and not page.startswith(f"{OUTSIDE}/")
    return path if not between_docs and not path.startswith(".") and (ROOT / path).exists() else None


def _path_of(page: str) -> str:
    """The path from the root of the project of what a page of the site shows."""
    return page.removeprefix(f"{OUTSIDE}/") if page.startswith(f"{OUTSIDE}/") else f"docs/{page}"


def _page_of(path: str) -> str:
    """The page of the site that shows a file or folder of the project."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{OUTSIDE}/{path}" if path.endswith(".md") else f"{OUTSIDE}/{path}.md"


def _text(path: str) -> str:
    """A file as a page; a folder with all of its files."""
    here = ROOT / path
    if path.endswith(".md"):
        return here.read_text(encoding="utf-8")
    shown = [one for one in sorted(here.iterdir()) if one.is_file()] if here.is_dir() else [here]
    parts = (f"## {one.name}\n\n" * here.is_dir() + _code(one) for one in shown)
    return f"# {path}\n\n" + "\n".join(parts)


def _code(path: Path) -> str:
    """The text of a file as a block of code; no line of one begins with four backticks."""
    return f"````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8')}````\n"
