"""A recorded case counts only when the code that production runs answers it: what checks ask is reached from services and commands."""

import ast
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from tests.places import ROOT

PRODUCT = ("events", "projections", "services", "ops")
CHECKS = sorted((Path(__file__).parent / "kueue").glob("*.py"))


def asked(file: Path) -> Iterator[tuple[str, str]]:
    """The product's names that a file of checks uses, by module."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in PRODUCT:
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.fixture(scope="module")
def running() -> dict[str, set[str]]:
    """Every module that is imported, now or late, by what wires the services and by the command line, and what it uses."""
    graph = grimp.build_graph(*PRODUCT, cache_dir=None)
    doors = {"ops.production.wiring", "ops.cli.main"} | graph.find_descendants("ops.cli")
    reached = doors.union(*(graph.find_upstream_modules(door) for door in doors))
    return {name: _used_in(file) for name in sorted(reached) if (file := _file_of(name)).exists()}


def _file_of(module: str) -> Path:
    path = ROOT / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _used_in(file: Path) -> set[str]:
    """The names that are used in a module, not only defined or imported there."""
    tree = ast.parse(file.read_text())
    loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return loaded | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("file", CHECKS, ids=lambda file: file.stem)
def test_what_a_check_asks_is_what_production_runs(file: Path, running: dict[str, set[str]]) -> None:
    used = set().union(*running.values())
    for module, name in asked(file):
        if f"{module}.{name}" in running:
            continue
        assert module in running, f"{file.name} asks {module}, which neither a service nor a command imports"
        assert name in used, f"{file.name} asks {module}.{name}, which nothing in the product uses"
