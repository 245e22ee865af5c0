"""Pages lead to pages and anchors that exist, and name reasons that the code gives."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "schema" not in path.parts),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FIELD = re.compile(
    r"(?<![\w/.-])[a-z]+[A-Z]\w+|\bKUELOG_[A-Z_]+|\bkue(?:log|ue)_[a-z_]+|\b(?:kuelog\.io|kueue\.x-k8s\.io|hami\.io)/[\w-]+\w"
)
CODE = re.compile(r"`([^`\n]+)`")
OF_OTHERS = {"migProfileAllowlist"}
"""A field of HAMi's that is named as one of no meaning here."""
OF_TESTS = {"KUELOG_CONFORMANCE", "KUELOG_HELM", "KUELOG_KUEUE_DEFINITIONS", "KUELOG_TEST_KUBECONFIG"} | {
    "KUELOG_TEST_KUEUE_MANAGER",
    "KUELOG_TEST_PYTHONS",
}
REASON = re.compile(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`")
OBJECTS = {"ClusterQueue", "LocalQueue", "ResourceFlavor", "QuotaReserved", "NotSupported"}
"""What is spelled like a reason and is a kind, a condition, or the end of several reasons."""


def anchors(page: Path) -> Iterator[str]:
    for line in page.read_text(encoding="utf-8").splitlines():
        yield from re.findall(r'<a id="([^"]+)"', line)
        if line.startswith("#"):
            words = re.sub(r"<[^>]+>", "", line.lstrip("# ")).lower()
            yield re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in set(anchors(target)), link


def test_the_readme_shows_two_pictures_of_the_console_and_says_how_they_are_made() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(r"!\[[^\]]{10,}\]\(docs/pictures/console-\w+\.png\)", text)) == 2
    assert "make screenshots" in text


def test_the_symptoms_are_those_that_the_code_names() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for floor in ("events", "projections", "services")
        for path in (ROOT / floor).rglob("*.py")
    )
    named = set(REASON.findall((ROOT / "docs" / "symptoms.md").read_text(encoding="utf-8"))) - OBJECTS
    assert {one for one in named if f'"{one}"' not in code} == set()


def test_fields_labels_and_variables_that_pages_name_are_known_to_the_code() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for floor in ("events", "projections", "services", "ops")
        for path in (ROOT / floor).rglob("*")
        if path.suffix in (".py", ".yaml", ".json")
    )
    known = {one.replace("_", "").lower() for one in re.findall(r"\w+", code)}
    told = {
        (page.name, field)
        for page in PAGES
        if "decisions" not in page.parts and page.name != "CHANGELOG.md"
        for text in CODE.findall(page.read_text(encoding="utf-8"))
        for field in FIELD.findall(text)
    }
    assert len(told) > 400
    unknown = {(page, one) for page, one in told if one not in code and one.lower() not in known}
    assert {(page, one) for page, one in unknown if one not in OF_OTHERS | OF_TESTS} == set()
