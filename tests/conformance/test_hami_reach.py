"""What answers recorded HAMi cases is what production runs: reached from the wiring or the command line, by module and by name."""

import ast
from functools import cache
from pathlib import Path

from tests.places import ROOT

ROOTS = ("ops.production.wiring", "ops.cli.main")
TOPS = ("events", "projections", "services", "ops")
ADAPTERS = Path(__file__).parent / "hami"


@cache
def modules() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for top in TOPS:
        for path in (ROOT / top).rglob("*.py"):
            found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> dict[str, set[str]]:
    """By module the names that are taken from it; commands that are imported late are named in text."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree(path)):
        match node:
            case ast.ImportFrom(module=str(module)):
                for one in node.names:
                    inner = f"{module}.{one.name}"
                    found.setdefault(inner if inner in modules() else module, set()).add(one.name)
            case ast.Import():
                for one in node.names:
                    found.setdefault(one.name, set())
            case ast.Constant(value=str(text)) if text in modules():
                found.setdefault(text, set())
            case _:
                pass
    return found


@cache
def reached() -> frozenset[str]:
    seen: set[str] = set()
    todo = [*ROOTS]
    while todo:
        module = todo.pop()
        if module in seen or module not in modules():
            continue
        seen.add(module)
        todo.extend(imported(modules()[module]))
    return frozenset(seen)


def used_names(path: Path) -> set[str]:
    """Every name that a module uses, its own definitions aside."""
    return {
        word
        for node in ast.walk(tree(path))
        for word in (
            [node.id] if isinstance(node, ast.Name) else [node.attr] if isinstance(node, ast.Attribute) else []
        )
    }


@cache
def names_in_production() -> frozenset[str]:
    return frozenset().union(*(used_names(modules()[module]) for module in reached()))


def answering() -> list[tuple[str, str]]:
    """What adapters take of the product: module and name."""
    found = {
        (module, name)
        for path in sorted(ADAPTERS.glob("*.py"))
        for module, names in imported(path).items()
        if module.split(".")[0] in TOPS
        for name in names
        if not module.endswith(f".{name}")
    }
    return sorted(found)


def test_every_module_that_answers_a_case_is_reached_from_the_wiring_or_the_command_line() -> None:
    assert sorted({module for module, _ in answering()} - reached()) == []


def test_every_name_that_answers_a_case_is_used_by_what_is_reached() -> None:
    lost = [f"{module}.{name}" for module, name in answering() if name not in names_in_production()]
    lost = [one for one in lost if one not in modules()]
    assert lost == []


def test_no_module_about_cards_stands_apart() -> None:
    cards = {
        module
        for module, path in modules().items()
        if module.startswith("projections.devices.") and path.name != "__init__.py"
    }
    assert sorted(cards - reached()) == []
