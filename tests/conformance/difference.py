"""Where two recorded values differ first, told as a path."""

from fractions import Fraction

_TOLERANCE = Fraction(1, 1000)
Json = object


def first_difference(expected: Json, actual: Json, path: str = "") -> str | None:
    """The first place where they differ, or None.

    A number that is recorded with a fraction is a score, of 32 bits: a thousandth is the same. Whole numbers are equal or
    not.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _in_objects(expected, actual, path)
    if isinstance(expected, list) and isinstance(actual, list):
        return _in_lists(expected, actual, path)
    return None if _same(expected, actual) else f"{path}: expected {expected!r}, is {actual!r}"


def _in_objects(expected: dict[str, Json], actual: dict[str, Json], path: str) -> str | None:
    for key in sorted({*expected, *actual}):
        if key not in actual:
            return f"{path}.{key}: expected {expected[key]!r}, is absent"
        if key not in expected:
            return f"{path}.{key}: not expected, is {actual[key]!r}"
        found = first_difference(expected[key], actual[key], f"{path}.{key}")
        if found:
            return found
    return None


def _in_lists(expected: list[Json], actual: list[Json], path: str) -> str | None:
    for index, (left, right) in enumerate(zip(expected, actual, strict=False)):
        found = first_difference(left, right, f"{path}[{index}]")
        if found:
            return found
    if len(expected) != len(actual):
        return f"{path}: expected {len(expected)} entries {expected!r}, are {len(actual)} {actual!r}"
    return None


def _same(expected: Json, actual: Json) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, float) and isinstance(actual, int | float | Fraction):
        gap = abs(Fraction(expected) - Fraction(actual))
        return gap <= _TOLERANCE * max(1, abs(Fraction(expected)) / 1000)
    return expected == actual
