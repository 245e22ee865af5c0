"""Which mutants of some modules there are, and which of them are drawn."""

import ast
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.commands.init import _all_work_items  # pyright: ignore[reportPrivateUsage] - its only way without a file
from cosmic_ray.work_item import MutationSpec

SAYS_NOTHING = {
    "core/ReplaceComparisonOperator_Is_Eq",
    "core/ReplaceComparisonOperator_IsNot_NotEq",
}
"""What rules compare by identity are enumerations, truth values and nodes: these are equal only to themselves."""


class Place(NamedTuple):
    """Where something stands in a module, from its first character up to the one behind its last; lines from 1."""

    begin: tuple[int, int]
    end: tuple[int, int]


def mutants_of(root: Path, modules: Sequence[str]) -> list[MutationSpec]:
    """All mutants of some modules, in a fixed order, but for those that change no rule whatever they change."""
    found: list[MutationSpec] = []
    for module in modules:
        hints = list(type_hints((root / module).read_text()))
        for item in _all_work_items([root / module], {}):
            one = item.mutations[0]
            if one.operator_name not in SAYS_NOTHING and not any(_in(one, hint) for hint in hints):
                found.append(one)
    return sorted(found, key=lambda one: (str(one.module_path), one.operator_name, one.occurrence))


def drawn(mutants: Sequence[MutationSpec], each: int, seed: int) -> list[MutationSpec]:
    """As many as asked for, by the seed; all of them for 0."""
    return random.Random(seed).sample(mutants, min(each, len(mutants))) if each else list(mutants)


def type_hints(source: str) -> Iterator[Place]:
    """Where types are written: to change `int | None` there breaks the module and no rule."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.arg(annotation=ast.expr() as hint) | ast.AnnAssign(annotation=hint):
                yield _place(hint)
            case ast.FunctionDef(returns=ast.expr() as hint) | ast.AsyncFunctionDef(returns=ast.expr() as hint):
                yield _place(hint)
            case _:
                pass


def _place(node: ast.expr) -> Place:
    begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return Place(begin, (end[0] or begin[0], end[1] or begin[1]))


def _in(mutant: MutationSpec, place: Place) -> bool:
    return place.begin <= mutant.start_pos and mutant.end_pos <= place.end
