"""Values of any event type: right in their shape, and as wild within it as the type allows."""

import random
from collections.abc import Callable
from typing import Any

from msgspec import inspect

Plain = Any

NAMES = (
    "team", "other", "default", "q0", "q1", "lq", "one", "two", "root", "n0", "n1", "GPU-n0-0", "GPU-n1-0", "j0", "j1",
    "default/j0", "default/j1", "default/job-j0", "default/none", "team/a", "q0/q1", "default/q0", "slow", "high",
    "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores", "cpu", "pods", "main", "LOG_0", "FACTS", "DEVICES_default",
    "Job", "Workload", "Pod", "ClusterQueue", "Node", "NVIDIA", "NVIDIA-V100", "True", "Unknown",
    "kueue.x-k8s.io/provisioning-request", "LOG_0/3", "zone", "a",
)  # fmt: skip
ODD_TEXTS = (
    "", " ", "/", "//", "a/b/c", "#", "0", "-5", "1e999", "9" * 400, "²", "\x00", "\u202e\U0001f4a5é", "x" * 3000, "a\nb",
    "LOG_0/²", "LOG_0/" + "9" * 5000, "*", "..", "kuelog.facts.>", "{}", "None", ":;,", "GPU-n0-0,NVIDIA,9,9:;",
)  # fmt: skip
ODD_NUMBERS = (
    -1, 0, 1, 99, 101, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, -(2**64), 10**30, -(10**30),
)  # fmt: skip
_DEPTH = 7
"""So deep values are nested; beyond that a list has no items."""


class Values:
    """Draws values for types, each from one source of chance."""

    def __init__(self, chance: random.Random, *, odd: float = 0.15) -> None:
        self.chance, self.odd = chance, odd

    def event(self, kind: type) -> dict[str, Plain]:
        """An event as it is written, its tag included."""
        return self.of(inspect.type_info(kind), 0)

    def of(self, kind: inspect.Type, depth: int) -> Plain:
        """A value that decodes as this type."""
        for known, draw in _DRAWS.items():
            if isinstance(kind, known):
                return draw(self, kind, depth)
        raise AssertionError(f"no value of {kind} is known: say here how one is drawn")

    def struct(self, kind: inspect.StructType, depth: int) -> Plain:
        fields = {
            field.encode_name: self.of(field.type, depth + 1)
            for field in kind.fields
            if field.required or self.chance.random() < 0.6
        }
        return {str(kind.tag_field): kind.tag, **fields} if kind.tag_field else fields

    def union(self, kind: inspect.UnionType, depth: int) -> Plain:
        return self.of(self.chance.choice(kind.types), depth)

    def items(self, one: inspect.Type, depth: int) -> Plain:
        """Few, seldom many, and now and then the same one twice."""
        if depth >= _DEPTH:
            return []
        found = [self.of(one, depth + 1) for _ in range(self.chance.choice((0, 1, 1, 1, 2, 3)))]
        if found and self.chance.random() < self.odd:
            found.append(self.chance.choice(found))
        return found

    def table(self, kind: inspect.DictType, depth: int) -> Plain:
        if depth >= _DEPTH:
            return {}
        keys = [str(self.of(kind.key_type, depth + 1)) for _ in range(self.chance.choice((0, 1, 1, 2, 3)))]
        return {key: self.of(kind.value_type, depth + 1) for key in keys}

    def number(self) -> int:
        if self.chance.random() < self.odd:
            return self.chance.choice(ODD_NUMBERS)
        return self.chance.choice((0, 1, 1, 2, 3, 5, 50, 100, 1000, 16000, 64_000, self.chance.randrange(10**6)))

    def fraction(self) -> float:
        return self.chance.choice((0.0, 1.0, 0.5, -1.0, 1e300, 5e-324, 1e18))

    def text(self) -> str:
        return self.chance.choice(ODD_TEXTS if self.chance.random() < self.odd else NAMES)


_DRAWS: dict[type, Callable[[Values, Any, int], Plain]] = {
    inspect.StructType: Values.struct,
    inspect.UnionType: Values.union,
    inspect.VarTupleType: lambda values, kind, depth: values.items(kind.item_type, depth),
    inspect.ListType: lambda values, kind, depth: values.items(kind.item_type, depth),
    inspect.FrozenSetType: lambda values, kind, depth: values.items(kind.item_type, depth),
    inspect.TupleType: lambda values, kind, depth: [values.of(one, depth + 1) for one in kind.item_types],
    inspect.DictType: Values.table,
    inspect.EnumType: lambda values, kind, depth: values.chance.choice(list(kind.cls)).value,
    inspect.LiteralType: lambda values, kind, depth: values.chance.choice(kind.values),
    inspect.BoolType: lambda values, kind, depth: values.chance.random() < 0.5,
    inspect.IntType: lambda values, kind, depth: values.number(),
    inspect.FloatType: lambda values, kind, depth: values.fraction(),
    inspect.StrType: lambda values, kind, depth: values.text(),
    inspect.NoneType: lambda values, kind, depth: None,
    inspect.AnyType: lambda values, kind, depth: values.chance.choice((None, 1, "x", [], {}, {"a": [1]})),
}
