"""A decider that fails on one workload, tree, node, card, pod or flavor sets just that aside, on record, and goes on."""

import re
from collections.abc import Callable
from typing import TypeVar

from events.rules import RULES
from events.setting_aside import SetAside

T = TypeVar("T")

_LONGEST = 200
_ADDRESS = re.compile("0x[0-9a-fA-F]+")


def guarded(
    decide: Callable[[], T],
    service: str,
    *,
    workload: str = "",
    tree: str = "",
    node: str = "",
    card: str = "",
    pod: str = "",
    flavor: str = "",
) -> T | SetAside:
    """The result of `decide`, or the `SetAside` event for the named object when it fails.

    `decide` has to undo what it has changed until then (`Trail.trial`). Raises `MemoryError`, which is no fault of an object.
    """
    try:
        return decide()
    except MemoryError:
        raise
    except Exception as problem:  # noqa: BLE001 - whatever it is, it concerns this one object
        return SetAside(
            service=service,
            workload=workload,
            tree=tree,
            node=node,
            card=card,
            pod=pod,
            flavor=flavor,
            reason=error_summary(problem),
            rules=RULES,
        )


def error_summary(problem: Exception) -> str:
    """An error's type and message, the same on every replica and in a replay: without memory addresses and stack depths."""
    if isinstance(problem, RecursionError):
        return "RecursionError: it is nested too deeply"
    text = _ADDRESS.sub("0x", " ".join(str(problem).split()))
    return f"{type(problem).__name__}: {text}"[:_LONGEST]
