"""Every rule names tests that exist, and whatever is cited can be found in the repository."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.places import ROOT

CHAPTERS = sorted((ROOT / "docs" / "rules").glob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CODE = [file for room in ("events", "projections", "services", "ops", "tests") for file in (ROOT / room).rglob("*.py")]
SCHEMAS = sorted((ROOT / "docs" / "schema").glob("*.json"))
RULE = re.compile(r'^### <a id="([a-z0-9-]+)"></a>.+$', re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.(?:py|yaml))::([\w-]+)`")
CITED = re.compile(r"\b(docs/[\w/.-]+\.md)#([\w-]+)")
FOREIGN = re.compile(
    r"(?<!RFC \d{4} )(?<!KEP-\d{4} )(?<!KEP-\d{5} )§.{0,9}"
    r"|\b(?:(?:kueue|hami)-(?:semantics|apis|features|topology|elastic-dra)|gpu-billing|log-engineering)\b|\breference/\w+"
)
LOOK_UP = re.compile(
    r"^\| (.+) \| \[rule\]\(([\w-]+\.md#[\w-]+)\) \| ([\w/]+) \| \[(\w+\.py)\]\(\.\./\.\./([\w/]+\.py)\) \|$",
    re.MULTILINE,
)
LINKED = re.compile(r"\]\((?!https?:)([\w/.-]*)#([\w-]+)\)")


def rules_of(text: str) -> dict[str, str]:
    """By anchor, what a chapter says of each rule."""
    starts = [*RULE.finditer(text)]
    ends = [match.start() for match in re.finditer(r"^##", text, re.MULTILINE)] + [len(text)]
    return {start[1]: text[start.end() : min(end for end in ends if end > start.start())] for start in starts}


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """What a link into a page may name: the anchors that it sets, and those that GitHub makes of its headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = [re.sub(r"<[^>]*>", "", title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    slugs = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
    return frozenset([*re.findall(r'<a id="([^"]+)"', text), *slugs])


@cache
def named_in(path: str) -> frozenset[str]:
    """The tests of a module, or the rules of a table of situations."""
    file = ROOT / path
    if not file.exists():
        return frozenset()
    if file.suffix == ".yaml":
        return frozenset(case["rule"] for case in yaml.safe_load(file.read_text()))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node.name for node in ast.parse(file.read_text()).body if isinstance(node, functions)]
    collected = file.name.startswith("test_")
    return frozenset(name for name in found if collected and name.startswith("test_"))


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=name_of)
def test_every_rule_names_a_test_and_every_test_that_it_names_is_there(chapter: Path) -> None:
    text = chapter.read_text()
    rules = rules_of(text)
    assert [anchor for anchor, said in rules.items() if not TEST.search(said)] == []
    assert [f"{path}::{name}" for path, name in TEST.findall(text) if name not in named_in(path)] == []
    assert len(rules) == len(RULE.findall(text)), "two rules of one anchor"
    headings = re.findall(r"^### .*$", text, re.MULTILINE)
    assert chapter.name == "README.md" or len(headings) == len(rules), "a rule without an anchor"


def test_every_situation_in_a_table_belongs_to_a_rule_that_names_the_table() -> None:
    named = {
        (path, name)
        for chapter in CHAPTERS
        for anchor, said in rules_of(chapter.read_text()).items()
        for path, name in TEST.findall(said)
        if name == anchor
    }
    tables = sorted((ROOT / "tests" / "cases").glob("*.yaml"))
    assert [(name_of(file), rule) for file in tables for rule in named_in(name_of(file))] != []
    for file in tables:
        assert {rule for rule in named_in(name_of(file)) if (name_of(file), rule) not in named} == set(), file.name


@pytest.mark.parametrize("chapter", [one for one in CHAPTERS if one.name != "README.md"], ids=name_of)
def test_every_chapter_stands_in_the_table_of_contents(chapter: Path) -> None:
    assert f"]({chapter.name})" in (chapter.parent / "README.md").read_text()


def test_every_anchor_that_is_cited_is_there() -> None:
    missing: list[str] = []
    for file in [*CODE, *PAGES, *SCHEMAS]:
        cited = [(ROOT / page, anchor) for page, anchor in CITED.findall(file.read_text())]
        if file.suffix == ".md":
            linked = LINKED.findall(file.read_text())
            cited += [((file.parent / (page or file.name)).resolve(), anchor) for page, anchor in linked]
        for page, anchor in cited:
            if page.suffix == ".md" and (not page.exists() or anchor not in anchors_of(page)):
                missing.append(f"{name_of(file)} cites {page.name}#{anchor}")
    assert missing == []


def test_a_rule_is_found_by_its_name_in_the_folder_of_its_noun_and_in_a_file_that_cites_it() -> None:
    text = (ROOT / "docs" / "rules" / "README.md").read_text()
    looked_for = LOOK_UP.findall(text)
    assert len(looked_for) == text.partition("## Where a rule is")[2].partition("\n## ")[0].count("[rule]") >= 10
    for what, rule, folder, shown, path in looked_for:
        file = ROOT / path
        assert file.exists() and file.parent.match(folder) and file.name == shown, what
        assert f"docs/rules/{rule}" in file.read_text(), what


def test_nothing_is_cited_that_is_not_in_the_repository() -> None:
    """Standards and others' issues may be: what a section sign follows is an RFC, or a proposal of Kueue's."""
    cited = {name_of(file): FOREIGN.findall(file.read_text()) for file in [*CODE, *PAGES, *SCHEMAS]}
    assert {file: found for file, found in cited.items() if found and file != name_of(Path(__file__))} == {}
