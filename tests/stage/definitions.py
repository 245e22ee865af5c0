"""The definitions that a test runs on: kuelog's own, and Kueue's, where they are at hand."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from events.json_object import JsonObject
from ops.production.crds.definitions import manifests
from tests.places import KUEUE_DEFINITIONS

BOTH = ("kuelog", "kueue")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def definitions_of(whose: str) -> tuple[JsonObject, ...]:
    """The CustomResourceDefinitions; a test on Kueue's is skipped where there are none."""
    if whose == "kuelog":
        return tuple(manifests())
    found = tuple(definitions_in(KUEUE_DEFINITIONS))
    if not found:
        pytest.skip(
            f"Kueue's own definitions are not in {KUEUE_DEFINITIONS}: set KUELOG_KUEUE_DEFINITIONS to their folder"
        )
    return found


def definitions_in(folder: Path) -> list[JsonObject]:
    """The CustomResourceDefinitions of a folder, in order of their files; none where it is not there."""
    return [yaml.load(one.read_text(), Loader=_LOADER) for one in sorted(folder.glob("*.yaml"))]
