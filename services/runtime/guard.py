"""What a decider does when it fails on one workload, tree, node, card, pod or flavor: it leaves just that alone, on record, and goes on."""

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
    """What is decided, or that its object is set aside because of an error.

    What was tried until then has to be taken back by trials around it. Raises `MemoryError`: that is no fault of an object.
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
            reason=told(problem),
            rules=RULES,
        )


def told(problem: Exception) -> str:
    """An error in words that are the same wherever it is decided again: without addresses, and without depths."""
    if isinstance(problem, RecursionError):
        return "RecursionError: it is nested too deeply"
    text = _ADDRESS.sub("0x", " ".join(str(problem).split()))
    return f"{type(problem).__name__}: {text}"[:_LONGEST]
