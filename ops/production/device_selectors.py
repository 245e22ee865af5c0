"""CEL expressions about devices, compiled and evaluated by Google's library, in the environment that Kubernetes gives them.

Rule: docs/rules/claims.md#expressions
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from events.api.claims import ApiDevice, DeviceAttribute
from events.quantity import BadQuantity, parse_quantity
from services.watcher.claims.selectors import SelectorFailed

_LONGEST = 10 * 1024
"""Kubernetes' own bound for an expression, in bytes."""
_NAMED = r"\[\s*(?:'([^']*)'|\"([^\"]*)\")\s*\]"
_LOOKED_UP = re.compile(rf"\.\s*(attributes|capacity)\s*{_NAMED}")
_ASKED_FOR = re.compile(r"(?:'([^']*)'|\"([^\"]*)\")\s+in\s+device\s*\.\s*(attributes|capacity)")
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_TYPE = cel.Type
_Value: TypeAlias = dict[str, str]
_TAGGED = _TYPE.Map(_TYPE.STRING, _TYPE.STRING)
"""A quantity or a version: a map with one key, because the library has no types of one's own."""


class DeviceSelectors:
    """Compiled expressions, by their text."""

    def __init__(self) -> None:
        self._environment = _environment()
        self._compiled: dict[str, cel.Expression | str] = {}

    def problem(self, expression: str) -> str:
        """Why an expression can't be compiled; empty when it can."""
        found = self._of(expression)
        return found if isinstance(found, str) else ""

    def meets(self, expression: str, driver: str, device: ApiDevice) -> bool:
        """Whether a device meets an expression that can be compiled. Raises `SelectorFailed`."""
        found = self._of(expression)
        if isinstance(found, str):
            raise SelectorFailed(found)
        value = found.eval(data=_variables(expression, driver, device)).plain_value()
        if not isinstance(value, bool):
            raise SelectorFailed(_plain(value))
        return value

    def _of(self, expression: str) -> "cel.Expression | str":
        found = self._compiled.get(expression)
        if found is None:
            found = self._compiled[expression] = self._compile(expression)
        return found

    def _compile(self, expression: str) -> "cel.Expression | str":
        if not expression:
            return "an expression is needed"
        if len(expression.encode()) > _LONGEST:
            return f"it is longer than {_LONGEST} bytes"
        try:
            compiled = self._environment.compile(expression)
        except RuntimeError as problem:
            return _plain(problem)
        kind = compiled.return_type()
        if kind not in (_TYPE.BOOL, _TYPE.DYN):
            return f"must evaluate to bool or the unknown type, not {kind.name().lower()}"
        return compiled


def _plain(problem: object) -> str:
    """What the library says, on one line and without its own code."""
    lines = [one for one in str(problem).splitlines() if not one.startswith(" |")]
    return re.sub(r"^[A-Z_]+: |\s*\[[A-Z_]+\]$", "", " ".join(lines)).strip()


def _variables(expression: str, driver: str, device: ApiDevice) -> Mapping[str, object]:
    attributes: dict[str, dict[str, object]] = {}
    for name, attribute in (device.attributes or {}).items():
        domain, identifier = _qualified(name, driver)
        attributes.setdefault(domain, {})[identifier] = _attribute(attribute)
    capacity: dict[str, dict[str, _Value]] = {}
    for name, amount in (device.capacity or {}).items():
        domain, identifier = _qualified(name, driver)
        capacity.setdefault(domain, {})[identifier] = _quantity(str(amount.value))
    for table, domain in _domains(expression):
        (attributes if table == "attributes" else capacity).setdefault(domain, {})
    return {
        "device.driver": driver,
        "device.attributes": attributes,
        "device.capacity": capacity,
        "device.allowMultipleAllocations": bool(device.allow_multiple_allocations),
    }


@lru_cache(maxsize=1024)
def _domains(expression: str) -> tuple[tuple[str, str], ...]:
    """The domains that an expression looks up and does not ask for: a domain that a device does not have is an empty map."""
    asked = {(table, one or other) for one, other, table in _ASKED_FOR.findall(expression)}
    looked = {(table, one or other) for table, one, other in _LOOKED_UP.findall(expression)}
    return tuple(sorted(looked - asked))


def _qualified(name: str, driver: str) -> tuple[str, str]:
    """Domain and identifier of a name; one without a domain is in that of its driver."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _attribute(found: DeviceAttribute) -> object:
    if found.version is not None:
        return _semver(found.version)
    return next((one for one in (found.string, found.truth, found.whole) if one is not None), "")


def _quantity(text: str) -> _Value:
    return {"quantity": str(parse_quantity(text))}


def _semver(text: str) -> _Value:
    if _SEMVER.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no semantic version")
    return {"version": text.partition("+")[0]}


def _normalized(text: str) -> str:
    """A version as people write it, with what is missing: `v1.2` is `1.2.0`."""
    core, mark, rest = text.removeprefix("v").partition("-")
    numbers = [one.lstrip("0") or "0" for one in core.split(".")]
    return ".".join([*numbers, "0", "0"][: max(3, len(numbers))]) + mark + rest


def _reads(read: Any, text: str) -> bool:
    try:
        read(text)
    except (ValueError, BadQuantity):
        return False
    return True


def _amount(value: _Value) -> Fraction:
    return Fraction(value["quantity"])


def _compare(left: _Value, right: _Value) -> int:
    if left.keys() != right.keys():
        raise ValueError("a quantity and a version can't be compared")
    one, other = _order(left), _order(right)
    return (one > other) - (one < other)


def _order(value: _Value) -> Any:
    """What a quantity, or a version, is ordered by."""
    if "quantity" in value:
        return (_amount(value),)
    core, _, before = value["version"].partition("-")
    parts = [(0, int(one), "") if one.isdigit() else (1, 0, one) for one in before.split(".")] if before else []
    return [int(one) for one in core.split(".")], not before, parts


def _part(value: _Value, index: int) -> int:
    return int(value["version"].partition("-")[0].split(".")[index])


def _both(left: _Value, right: Any, sign: int) -> _Value:
    other = _amount(right) if isinstance(right, dict) else Fraction(right)
    return {"quantity": str(_amount(left) + sign * other)}


def _function(name: str, result: Any, *overloads: tuple[list[Any], Any], member: bool = True) -> "cel.FunctionDecl":
    declared = [
        cel.Overload(f"{name}_{index}", return_type=result, parameters=parameters, is_member=member, impl=does)
        for index, (parameters, does) in enumerate(overloads)
    ]
    return cel.FunctionDecl(name, declared)


def _environment() -> "cel.Env":
    text, truth, whole, tagged = _TYPE.STRING, _TYPE.BOOL, _TYPE.INT, _TAGGED
    two = [tagged, tagged]
    functions = [
        _function("quantity", tagged, ([text], _quantity), member=False),
        _function("isQuantity", truth, ([text], lambda one: _reads(_quantity, one)), member=False),
        _function(
            "semver",
            tagged,
            ([text], _semver),
            ([text, truth], lambda one, loose: _semver(_normalized(one) if loose else one)),
            member=False,
        ),
        _function(
            "isSemver",
            truth,
            ([text], lambda one: _reads(_semver, one)),
            ([text, truth], lambda one, loose: _reads(_semver, _normalized(one) if loose else one)),
            member=False,
        ),
        _function("compareTo", whole, (two, _compare)),
        _function("isGreaterThan", truth, (two, lambda one, other: _compare(one, other) > 0)),
        _function("isLessThan", truth, (two, lambda one, other: _compare(one, other) < 0)),
        _function("sign", whole, ([tagged], lambda one: (_amount(one) > 0) - (_amount(one) < 0))),
        _function("isInteger", truth, ([tagged], lambda one: _amount(one).denominator == 1)),
        _function("asInteger", whole, ([tagged], lambda one: int(_amount(one)))),
        _function("asApproximateFloat", _TYPE.DOUBLE, ([tagged], lambda one: float(_amount(one)))),
        _function("add", tagged, (two, lambda one, other: _both(one, other, 1)), ([tagged, whole], lambda one, other: _both(one, other, 1))),
        _function("sub", tagged, (two, lambda one, other: _both(one, other, -1)), ([tagged, whole], lambda one, other: _both(one, other, -1))),
        *(
            _function(name, whole, ([tagged], lambda one, index=index: _part(one, index)))
            for index, name in enumerate(("major", "minor", "patch"))
        ),
    ]  # fmt: skip
    return cel.NewEnv(
        variables={
            # Under their whole names, so that a field that no device has is found when the expression is compiled.
            "device.driver": text,
            "device.attributes": _TYPE.Map(text, _TYPE.Map(text, _TYPE.DYN)),
            "device.capacity": _TYPE.Map(text, _TYPE.Map(text, tagged)),
            "device.allowMultipleAllocations": truth,
        },
        functions=functions,
        extensions=[ext_bindings.ExtBindings(), ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_math.ExtMath()],
    )  # fmt: skip
