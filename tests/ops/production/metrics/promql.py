"""Which metrics and labels a PromQL expression names: enough of the language to hold it against the list of names."""

import re
from collections.abc import Iterator, Mapping

from ops.production.metrics.names import BY_NAME, MetricKind

_GROUPING = re.compile(r"\b(by|on|group_left)\s*\(([^)]*)\)")
_NAME = re.compile(r"([a-zA-Z_:][\w:]*)(\{[^}]*\})?(\s*\()?")
_WORDS = {"and", "or", "unless", "offset", "bool", "group_left"}
OF_TARGET = ("instance",)
"""What Prometheus adds to all that it fetches."""
_OR = " or "
_SUFFIX = re.compile(r"_(bucket|sum|count)$")


def wrong(expr: str, recorded: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What an expression names that is not on the list: metrics, labels that are matched, and labels that are grouped by."""
    found: list[str] = []
    for name, matched in metrics(expr):
        labels = labels_of(name, recorded)
        if labels is None:
            found.append(f"no metric {name}")
            continue
        found += [f"{name} has no label {one}" for one in matched if one not in (*labels, *OF_TARGET)]
    for grouped, body in groupings(expr):
        for name, _ in metrics(body):
            labels = labels_of(name, recorded)
            found += [
                f"{name} has no label {one}"
                for one in grouped
                if labels is not None and one not in (*labels, *OF_TARGET)
            ]
    return found


def labels_of(name: str, recorded: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The labels of a metric or of a recorded expression; None when there is none of that name."""
    if name in recorded:
        return recorded[name]
    if name in BY_NAME and BY_NAME[name].kind is not MetricKind.HISTOGRAM:
        return BY_NAME[name].labels
    base = BY_NAME.get(_SUFFIX.sub("", name))
    if base is None or base.name == name or base.kind is not MetricKind.HISTOGRAM:
        return None
    return (*base.labels, "le") if name.endswith("_bucket") else base.labels


def metrics(expr: str) -> Iterator[tuple[str, list[str]]]:
    """The metrics of an expression, with the labels that are matched of each."""
    bare = re.sub(r"\[[^\]]*\]|\boffset\s+\w+", "", _GROUPING.sub(" ", expr))
    for found in _NAME.finditer(re.sub(r'"[^"]*"', '""', bare)):
        name, matchers, call = found.groups()
        if call is None and name not in _WORDS and not re.fullmatch(r"Inf|NaN|e\d*", name):
            yield name, re.findall(r"(\w+)\s*[=!]", matchers or "")


def groupings(expr: str) -> Iterator[tuple[list[str], str]]:
    """Each list of labels that is grouped or joined by, and what it is applied to: for a join the expression that it stands in."""
    for found in _GROUPING.finditer(expr):
        labels = [one.strip() for one in found.group(2).split(",") if one.strip()]
        if found.group(1) == "by":
            yield labels, _parenthesis(expr, found.end())
        elif found.group(1) == "on":
            yield labels, _around(expr, found.start())


def _around(expr: str, place: int) -> str:
    """What stands around a place in the same parenthesis, between `or` and `or`."""
    first, depth = place, 0
    while first > 0 and depth >= 0 and not (depth == 0 and expr[:first].endswith(_OR)):
        first -= 1
        depth += {")": 1, "(": -1}.get(expr[first], 0)
    last, depth = place, 0
    while last < len(expr) and depth >= 0 and not (depth == 0 and expr[last:].startswith(_OR)):
        depth += {"(": 1, ")": -1}.get(expr[last], 0)
        last += 1
    return expr[first:last]


def _parenthesis(expr: str, begin: int) -> str:
    """What stands in the parenthesis that opens next."""
    at = expr.index("(", begin)
    depth = 0
    for place in range(at, len(expr)):
        depth += {"(": 1, ")": -1}.get(expr[place], 0)
        if not depth:
            return expr[at + 1 : place]
    raise AssertionError(f"a parenthesis is open: {expr}")
