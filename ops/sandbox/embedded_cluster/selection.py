"""Label and field selectors of list and watch requests."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ops.sandbox.embedded_cluster.failures import bad_request

Test = Callable[[dict[str, Any]], bool]

_SET = re.compile(r"^\s*([^\s!=(),]+)\s+(in|notin)\s+\(([^)]*)\)\s*$")


def label_test(selector: str) -> Test:
    """A test on an object's labels. Raises 400 for what is not a selector."""
    tests = [_requirement(part) for part in _split(selector) if part.strip()]

    def test(value: dict[str, Any]) -> bool:
        labels: dict[str, str] = value["metadata"].get("labels") or {}
        return all(one(labels) for one in tests)

    return test


def field_test(selector: str) -> Test:
    """A test on an object's fields: `path=value` and `path!=value`."""
    wanted: list[tuple[str, str, bool]] = []
    for part in selector.split(","):
        if not part:
            continue
        found = re.match(r"^([^=!]+)(==|=|!=)(.*)$", part)
        if found is None:
            raise bad_request(f"unable to parse field selector {part!r}")
        wanted.append((found.group(1).strip(), found.group(3).strip(), found.group(2) != "!="))

    def test(value: dict[str, Any]) -> bool:
        return all((str(look(value, path) or "") == text) is equal for path, text, equal in wanted)

    return test


def look(value: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none. Understands `[0]` and `[?(@.type=="X")]` in printer columns."""
    for name in _steps(path):
        if value is None:
            return None
        if name.startswith("["):
            value = _index(value, name[1:-1])
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(part.replace("\0", ".") for part in re.findall(r"[^.\[\]]+|\[[^\]]*\]", path.replace("\\.", "\0")))


def _index(value: Any, text: str) -> Any:
    if not isinstance(value, list):
        return None
    if text.isdigit():
        return value[int(text)] if int(text) < len(value) else None
    found = re.match(r"""^\?\(@\.(\w+)==['"]([^'"]*)['"]\)$""", text)
    if found is None:
        return None
    return next((one for one in value if one.get(found.group(1)) == found.group(2)), None)


def _split(selector: str) -> list[str]:
    return re.split(r",(?![^(]*\))", selector)


def _requirement(part: str) -> Callable[[dict[str, str]], bool]:
    found = _SET.match(part)
    if found is not None:
        key, verb, values = found.group(1), found.group(2), {one.strip() for one in found.group(3).split(",")}
        if verb == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    text = part.strip()
    if "!=" in text:
        key, _, value = text.partition("!=")
        return lambda labels: labels.get(key.strip()) != value.strip()
    if "=" in text:
        key, _, value = text.partition("=")
        return lambda labels: labels.get(key.strip()) == value.lstrip("=").strip()
    if text.startswith("!"):
        return lambda labels: text[1:].strip() not in labels
    if " " in text:
        raise bad_request(f"unable to parse requirement: {part!r}")
    return lambda labels: text in labels
