"""How Kubernetes changes an object by a patch: merge, JSON and strategic merge (none changes its input)."""

import copy
from typing import Any

from ops.sandbox.embedded_cluster.changes.merge_rules import MergeRule
from ops.sandbox.embedded_cluster.failures import bad_request, invalid


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def strategic_patch(target: Any, patch: Any, rule: MergeRule = MergeRule()) -> Any:  # noqa: B008 - frozen
    """Kubernetes' strategic merge: like a merge, but lists that are maps are merged by their keys."""
    if isinstance(patch, list):
        return _merge_lists(target if isinstance(target, list) else [], patch, rule)
    if not isinstance(patch, dict) or rule.is_atomic:
        return patch
    if patch.get("$patch") == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if name.startswith("$"):
            _directive(result, name, value)
        elif value is None:
            result.pop(name, None)
        else:
            result[name] = strategic_patch(result.get(name), value, rule.below(name))
    return result


def _directive(result: dict[str, Any], name: str, value: Any) -> None:
    verb, _, field = name.partition("/")
    if verb == "$deleteFromPrimitiveList" and isinstance(result.get(field), list):
        result[field] = [one for one in result[field] if one not in value]


def _merge_lists(target: list[Any], patch: list[Any], rule: MergeRule) -> list[Any]:
    if rule.is_set:
        return [*target, *(one for one in patch if one not in target)]
    if not rule.merges([*target, *patch]):
        return [one for one in patch if not (isinstance(one, dict) and "$patch" in one)]
    if any(one.get("$patch") == "replace" for one in patch):
        return [one for one in patch if "$patch" not in one]
    result = list(target)
    for item in patch:
        index = next((i for i, one in enumerate(result) if rule.word(one) == rule.word(item)), None)
        if item.get("$patch") == "delete":
            if index is not None:
                result.pop(index)
        elif index is None:
            result.append(item)
        else:
            result[index] = strategic_patch(result[index], item, rule.item)
    return result


def json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902. Raises 400 for what is not a patch, 422 for one that does not apply."""
    if not isinstance(operations, list):
        raise bad_request("a JSON patch is a list of operations")
    result = copy.deepcopy(target)
    for operation in operations:
        try:
            result = _operate(result, operation)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as problem:
            found = operation.get("path") if isinstance(operation, dict) else None
            path = found if isinstance(found, str) else ""
            raise invalid("JSON patch", path, [(path or "path", f"does not apply: {problem}")]) from problem
    return result


def _operate(root: Any, operation: dict[str, Any]) -> Any:
    verb, path = operation["op"], _pointer(operation["path"])
    match verb:
        case "add" | "replace":
            return _set(root, path, copy.deepcopy(operation["value"]), insert=verb == "add")
        case "remove":
            _take(root, path)
            return root
        case "test":
            if _look(root, path) != operation["value"]:
                raise ValueError("the test failed")
            return root
        case "copy":
            return _set(root, path, copy.deepcopy(_look(root, _pointer(operation["from"]))), insert=True)
        case "move":
            return _set(root, path, _take(root, _pointer(operation["from"])), insert=True)
        case _:
            raise ValueError(f"unknown operation {verb!r}")


def _pointer(text: object) -> list[str]:
    if not isinstance(text, str) or not (text.startswith("/") or not text):
        raise ValueError(f"{text!r} is no path: a text that begins with a slash is expected")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _look(root: Any, path: list[str]) -> Any:
    for part in path:
        root = root[int(part)] if isinstance(root, list) else root[part]
    return root


def _set(root: Any, path: list[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    parent, last = _look(root, path[:-1]), path[-1]
    if isinstance(parent, list):
        if last == "-":
            parent.append(value)
        elif insert:
            parent.insert(int(last), value)
        else:
            parent[int(last)] = value
    else:
        if not insert and last not in parent:
            raise KeyError(last)
        parent[last] = value
    return root


def _take(root: Any, path: list[str]) -> Any:
    parent, last = _look(root, path[:-1]), path[-1]
    return parent.pop(int(last)) if isinstance(parent, list) else parent.pop(last)
