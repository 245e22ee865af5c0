"""A type's name means one thing in the whole house."""

import ast
from collections import defaultdict

from tests.house.test_rooms import FILES
from tests.places import ROOT


def test_no_two_modules_call_a_public_class_by_the_same_name() -> None:
    found = defaultdict[str, list[str]](list)
    for file in FILES:
        for one in ast.parse(file.read_text()).body:
            if isinstance(one, ast.ClassDef) and not one.name.startswith("_"):
                found[one.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}
