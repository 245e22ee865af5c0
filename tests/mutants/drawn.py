"""Which mutants of some modules there are, and which of them are drawn."""

import ast
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.commands.init import _all_work_items  # pyright: ignore[reportPrivateUsage] - its only way without a file
from cosmic_ray.work_item import MutationSpec

IDENTITY = re.compile(r"Comparison\w+_(Is|IsNot)(_|$)")
OPPOSITE = re.compile(r"Comparison\w+_(Is_IsNot|IsNot_Is)$")


class Place(NamedTuple):
    """Where something stands in a module, from its first character up to the one behind its last; lines from 1."""

    begin: tuple[int, int]
    end: tuple[int, int]


def mutants_of(root: Path, modules: Sequence[str]) -> list[MutationSpec]:
    """All mutants of some modules, in a fixed order, but for those that change no rule whatever they change."""
    found: list[MutationSpec] = []
    for module in modules:
        tree = ast.parse((root / module).read_text())
        aside, between = list(beside_the_rules(tree)), list(between_operands(tree))
        for item in _all_work_items([root / module], {}):
            one = item.mutations[0]
            if _of_identity(one.operator_name) or any(_in(one, place) for place in aside):
                continue
            if "BinaryOperator" not in one.operator_name or any(_in(one, place) for place in between):
                found.append(one)
    return sorted(found, key=lambda one: (str(one.module_path), one.operator_name, one.occurrence))


def drawn(mutants: Sequence[MutationSpec], each: int, seed: int) -> list[MutationSpec]:
    """As many as asked for, by the seed; all of them for 0."""
    return random.Random(seed).sample(mutants, min(each, len(mutants))) if each else list(mutants)


def between_operands(tree: ast.Module) -> Iterator[Place]:
    """Where operators stand; the star of parameters is taken for one, and to change that only breaks the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            yield Place(_place(node.left).end, _place(node.right).begin)


def beside_the_rules(tree: ast.Module) -> Iterator[Place]:
    """Where no rule is written.

    Types, which only break the module; that rows which are made together are of one length; how a value is made and kept:
    that it can't be changed and its fields are named, which types hold and the tests of the house, and whether the garbage
    collector looks at it.
    """
    for node in ast.walk(tree):
        match node:
            case ast.arg(annotation=ast.expr() as found) | ast.AnnAssign(annotation=found):
                yield _place(found)
            case ast.FunctionDef(returns=ast.expr() as found) | ast.AsyncFunctionDef(returns=ast.expr() as found):
                yield _place(found)
            case ast.keyword(arg="strict" | "frozen" | "kw_only" | "gc", value=found):
                yield _place(found)
            case _:
                pass


def _of_identity(operator: str) -> bool:
    """Whether `is` becomes another comparison than its opposite, or another one becomes `is`.

    What is compared by identity has no order and is equal to itself alone (enumerations, nodes, truth values); whether two
    equal numbers are one object is up to Python.
    """
    return bool(IDENTITY.search(operator)) and not OPPOSITE.search(operator)


def _place(node: ast.expr) -> Place:
    begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return Place(begin, (end[0] or begin[0], end[1] or begin[1]))


def _in(mutant: MutationSpec, place: Place) -> bool:
    return place.begin <= mutant.start_pos and mutant.end_pos <= place.end
