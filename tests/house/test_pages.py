"""Pages lead to pages and anchors that exist, and name reasons that the code gives."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from events.api import check_controllers
from projections.budgets.rates import CONTROLLER
from projections.devices.annotations import allocated_cards, steering, terms
from projections.devices.requests.admission_rule import WEBHOOK
from projections.devices.vendors.chip_families import CHIPS
from projections.devices.vendors.table import VENDORS
from services.applier.events import budget_events, cluster_events
from services.applier.pods import forced_pods
from services.watcher.pods import pod_groups

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
OF_EACH_CHIP = {"hami.io/use-CHIP-uuid", "hami.io/no-use-CHIP-uuid"}
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


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_row_of_a_table_stands_without_its_head(page: Path) -> None:
    """A row behind an empty line is no table to whoever draws the page."""
    lines = ["", *page.read_text(encoding="utf-8").splitlines(), ""]
    astray = [
        row
        for above, row, below in zip(lines, lines[1:], lines[2:], strict=False)
        if row.startswith("| ") and not above.startswith("|") and not below.startswith("|-")
    ]
    assert astray == []


def test_the_pages_of_checks_name_each_controller_that_is_ours() -> None:
    text = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    concept = (ROOT / "docs" / "concepts" / "checks.md").read_text(encoding="utf-8")
    ours = (CONTROLLER, check_controllers.PROVISIONING, check_controllers.MULTIKUEUE)
    assert [one for one in ours if f"| `{one}` | kuelog: " not in text or f"`{one}`" not in concept] == []


def test_every_option_that_a_page_gives_to_a_command_is_one_of_it() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    of_commands = dict(re.findall(r"\n## `(kuelog[^`]*)`\n(.*?)(?=\n## |\Z)", text, re.DOTALL))
    told_of = [
        page for page in PAGES if "decisions" not in page.parts and page.name not in ("commands.md", "CHANGELOG.md")
    ]
    unknown = [
        (page.name, asked)
        for page in told_of
        for asked in re.findall(
            r"(?<!install )kuelog [a-z][^`#|;]*", page.read_text(encoding="utf-8").replace("\\\n", " ")
        )
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", asked.splitlines()[0])
        if not any(option in said for name, said in of_commands.items() if _is_about(asked, name))
    ]
    assert unknown == []


def _is_about(asked: str, command: str) -> bool:
    """Whether a command, or one above or below it, is what is asked; `pods` is `pod`, too."""
    words, name = asked.split(), command.split()
    return all(word.removesuffix("s") == part.removesuffix("s") for word, part in zip(words, name, strict=False))


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
    assert {(page, one) for page, one in unknown if one not in OF_OTHERS | OF_TESTS | OF_EACH_CHIP} == set()


def test_the_page_of_cards_names_all_by_which_a_pod_asks_for_cards_and_chooses_among_them() -> None:
    text = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    section = text.partition("What a pod says")[2].partition("\n## ")[0]
    words = {chip.word for chip in CHIPS}
    of_vendors = {
        name.replace(vendor.word, "CHIP") if vendor.word in words else name
        for vendor in VENDORS
        for name in (*vendor.resources.names(), *vendor.steering())
    }
    of_all = {
        *(allocated_cards.CARD_POLICY, allocated_cards.NODE_POLICY, steering.SCORING_WEIGHTS, WEBHOOK),
        *(terms.NUMA_BIND, terms.MODES, terms.SOFT_SPLIT_POD, terms.QUALITY, terms.CLASS, terms.LINKED),
    }
    by_domain = {name for name in of_vendors if all(f"`{part}`" in section for part in _domain_and_name(name))}
    assert {name for name in of_vendors | of_all if f"`{name}" not in section} - by_domain == set()
    assert {word for word in (*words, *steering.CARD_POLICIES) if f"`{word}`" not in section} == set()


def _domain_and_name(key: str) -> tuple[str, str]:
    domain, _, name = key.partition("/")
    return f"{domain}/", name


AT = {"with_news": 2, "_of_job": 3, "job_event": 4}
"""Which argument of a call is the reason of an Event."""


def reasons_of_events(path: Path) -> Iterator[str]:
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        at = AT.get(call.func.id)
        found = call.args[at : at + 1] if at is not None else []
        found += [one.value for one in call.keywords if call.func.id == "News" and one.arg == "reason"]
        for one in found:
            if isinstance(one, ast.JoinedStr):
                one = one.values[0]
            if isinstance(one, ast.Name) and one.id.isupper():
                module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
                yield getattr(module, one.id)
            elif isinstance(one, ast.Constant):
                yield one.value


def test_the_page_of_what_people_see_names_every_kubernetes_event_that_is_published() -> None:
    text = (ROOT / "docs" / "kubectl.md").read_text(encoding="utf-8")
    section = text.partition("## Events")[2].partition("Not recorded are")[0]
    sources = [*(ROOT / "projections").rglob("*.py"), *(ROOT / "services" / "applier").rglob("*.py")]
    published = {reason for path in sources for reason in reasons_of_events(path)} | {
        *(cluster_events.REFUSED, cluster_events.NOT_COMPOSED, forced_pods.REASON),
        *(budget_events.REACHED, budget_events.RENEWED, budget_events.EXHAUSTED),
        *(pod_groups.EXCESS, pod_groups.DISMISSED),
    }
    assert "Preempted" in published and "EvictedDueTo" in published
    assert {reason for reason in published if f"`{reason}" not in section} == set()
