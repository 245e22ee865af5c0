"""Manifests from files: YAML or JSON, several documents each, with the line of every field."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from projections.validation.loose import normalise
from projections.validation.problem import Problem


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One object of a file."""

    file: str
    line: int
    value: dict[str, Any]
    lines: dict[str, int] = {}
    """The line of each field by its path."""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"

    @property
    def label(self) -> str:
        """Kind, namespace and name."""
        meta = self.value.get("metadata") or {}
        name = "/".join(part for part in (meta.get("namespace"), meta.get("name")) if part)
        return f"{self.value.get('kind', '?')} {name or '?'}"

    def line_of(self, field: str) -> int:
        """The line of a field, or of the nearest part of its path that is there."""
        while field:
            if field in self.lines:
                return self.lines[field]
            cut = max(field.rfind("."), field.rfind("["))
            field = field[:cut] if cut > 0 else ""
        return self.line


class ManifestBroken(Exception):
    """A file that can't be read as manifests."""

    def __init__(self, *, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")
        self.file, self.line, self.problem = file, line, problem


def read_manifests(files: Sequence[Path], *, loose: bool = False) -> list[Document]:
    """All objects of these files, in order. Raises `ManifestBroken`. With `loose`, in the form that makes sense."""
    found: list[Document] = []
    for file in files:
        found.extend(_read(file))
    if not loose:
        return found
    return [
        msgspec.structs.replace(document, value=value)
        for document, (value, _) in zip(found, normalise([one.value for one in found]), strict=True)
    ]


def loosened(documents: Sequence[Document]) -> list[tuple[Document, list[Problem]]]:
    """The objects in the form that makes sense, with a warning for everything that was changed."""
    made = normalise([one.value for one in documents])
    return [
        (msgspec.structs.replace(document, value=value), problems)
        for document, (value, problems) in zip(documents, made, strict=True)
    ]


def _read(file: Path) -> list[Document]:
    name = str(file)
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise ManifestBroken(file=name, line=1, problem=str(problem)) from problem
    documents: list[Document] = []
    try:
        for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
            value = _construct(node)
            if value is None:
                continue
            if not isinstance(value, dict) or "kind" not in value:
                raise ManifestBroken(
                    file=name, line=node.start_mark.line + 1, problem="this is not a Kubernetes object: it has no kind"
                )
            lines: dict[str, int] = {}
            _note_lines(node, "", lines)
            documents.append(Document(file=name, line=node.start_mark.line + 1, value=value, lines=lines))
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark is not None else 1
        raise ManifestBroken(file=name, line=line, problem=f"broken YAML: {problem.problem}") from problem
    return documents


def _construct(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return _plain(loader.construct_document(node))
    finally:
        loader.dispose()


def _plain(value: Any) -> Any:
    """YAML's dates as the text they were: Kubernetes objects know no dates."""
    if isinstance(value, dict):
        return {str(name): _plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _note_lines(node: yaml.Node, path: str, lines: dict[str, int]) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            field = f"{path}.{key.value}" if path else str(key.value)
            lines[field] = key.start_mark.line + 1
            _note_lines(value, field, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            field = f"{path}[{index}]"
            lines[field] = value.start_mark.line + 1
            _note_lines(value, field, lines)
