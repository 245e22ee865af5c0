"""YAML as others wrote it, read within bounds: a text becomes values, or is refused in one sentence with its line.

Nothing that is read may end a process or fill its memory: aliases make a short text a tree without end.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.events import AliasEvent
from yaml.loader import BaseLoader, SafeLoader

NODES_AT_MOST = 200_000
"""So many values stand in one YAML document at most, each counted as often as an alias repeats it."""
DEPTH_AT_MOST = 100
"""So deep may values stand in one another."""
_INTEGERS = range(-(1 << 63), 1 << 64)


class Unreadable(ValueError):
    """What was read is not what it has to be; `place` names the file or the storage, `line` begins at 1, 0 is unknown."""

    def __init__(self, problem: str, *, place: object = "", line: int = 0) -> None:
        self.problem, self.place, self.line = problem, place, line
        self.what = f"{problem}, on line {line}" if line else problem
        super().__init__(f"{place}: {self.what}" if place else self.what)


def yaml_of(text: str | bytes) -> Any:
    """The value of one YAML document. Raises `Unreadable`."""
    return _single(text, _Typed)


def yaml_as_written(text: str) -> Any:
    """The value of one YAML document, whose numbers and words all stay the text that they are. Raises `Unreadable`."""
    return _single(text, _AsWritten)


def yaml_documents(text: str) -> Iterator[yaml.Node]:
    """The nodes of each YAML document, with their lines. Raises `Unreadable`."""
    with _refusing(text):
        loader: Any = _Typed(text)  # PyYAML's own types leave out what its loaders inherit.
        try:
            while loader.check_node():
                node: yaml.Node | None = loader.get_node()
                if node is not None:
                    yield node
        finally:
            loader.dispose()


def check_each_once(node: yaml.Node, *, but: str = "") -> None:
    """Of two words of one name in a mapping YAML has the last count: which of them was meant nobody knows. Raises `Unreadable`, not for `but`."""
    if isinstance(node, yaml.SequenceNode):
        for one in node.value:
            check_each_once(one, but=but)
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in lines:
                raise Unreadable(f"field {name} is given twice, on line {lines[name]} and here", line=line)
            if isinstance(key, yaml.ScalarNode) and name != but:
                lines[name] = line
            check_each_once(value, but=but)


def value_of(node: yaml.Node) -> Any:
    """The value of a node. Raises `Unreadable`."""
    loader: Any = _Typed("")
    with _refusing():
        try:
            return loader.construct_document(node)
        finally:
            loader.dispose()


class _Bounds(Composer):
    """Measures what it composes: aliases make a short text a tree without end."""

    def compose_document(self) -> yaml.Node | None:
        """One document."""
        self._depth = 0
        self._measures: dict[int, tuple[int, int]] = {}
        """By node: how many values it makes, and how deep they stand in it."""
        return super().compose_document()

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """One value with all that it holds."""
        loader: Any = self
        line: int = loader.peek_event().start_mark.line + 1
        again: bool = loader.check_event(AliasEvent)
        self._depth += 1
        if self._depth > DEPTH_AT_MOST:
            raise Unreadable(_TOO_DEEP, line=line)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is not None and id(node) not in self._measures:
            if again:
                raise Unreadable("broken YAML: an anchor that holds itself", line=line)
            self._measures[id(node)] = self._measured(node, line)
        return node

    def _measured(self, node: yaml.Node, line: int) -> tuple[int, int]:
        inside: list[yaml.Node] = []
        if isinstance(node, yaml.ScalarNode):
            node.value = _joined(node.value)
        elif isinstance(node, yaml.MappingNode):
            inside = [one for pair in node.value for one in pair]
        elif isinstance(node, yaml.SequenceNode):
            inside = node.value
        measures = [self._measures[id(one)] for one in inside]
        size, height = 1 + sum(one[0] for one in measures), 1 + max((one[1] for one in measures), default=0)
        if size > NODES_AT_MOST:
            raise Unreadable(f"more than {NODES_AT_MOST} fields in one document", line=line)
        if height > DEPTH_AT_MOST:
            raise Unreadable(_TOO_DEEP, line=line)
        return size, height


class _Typed(_Bounds, SafeLoader):
    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """An integer that JSON can carry."""
        value = super().construct_yaml_int(node)
        if value not in _INTEGERS:
            raise Unreadable("a number that has more than 64 bits", line=node.start_mark.line + 1)
        return value


class _AsWritten(_Bounds, BaseLoader):
    pass


_Typed.add_constructor("tag:yaml.org,2002:int", _Typed.construct_yaml_int)


def _single(text: str | bytes, loader_of: type[_Typed] | type[_AsWritten]) -> Any:
    text = decoded(text) if isinstance(text, bytes) else text
    with _refusing(text):
        loader: Any = loader_of(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()


@contextmanager
def _refusing(text: str = "") -> Generator[None, None, None]:
    """Turn any error of a YAML text into `Unreadable`: one sentence, with its line."""
    try:
        yield
    except Unreadable:
        raise
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = mark.line + 1 if mark is not None else 0
        raise Unreadable(f"broken YAML: {problem.problem}", line=line) from problem
    except RecursionError as problem:
        raise Unreadable(_TOO_DEEP) from problem
    except yaml.reader.ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        raise Unreadable(f"broken YAML: {problem.reason}", line=line) from problem
    except (yaml.YAMLError, ValueError, LookupError, ArithmeticError, AttributeError, TypeError) as problem:
        # A value is not what its tag says: `!!int ""`, `!!bool x` or the 99th of a month fail in a way of their own each.
        raise Unreadable(f"broken YAML: a value that can't be read: {problem}") from problem


def decoded(data: bytes) -> str:
    """A text in UTF-8. Raises `Unreadable`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Unreadable("this is not text in UTF-8") from problem


def _joined(value: str) -> str:
    """A character that JSON escapes as two halves, as one; a half by itself is no text and can't be written anywhere."""
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16")


_TOO_DEEP = f"broken YAML: nested too deeply, more than {DEPTH_AT_MOST} levels"
