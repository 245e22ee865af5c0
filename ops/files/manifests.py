"""Manifests from files: YAML or JSON, several documents each, with the line of every field."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from ops.files.reading import Unreadable, check_each_once, text_of, value_of, yaml_documents
from services.validation.lenient import normalise

_SUFFIXES = (".yaml", ".yml", ".json")
_SAID = ", ".join(_SUFFIXES)


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
        if not isinstance(meta, dict):
            meta = {}
        own = meta.get("name") or (f"{meta['generateName']}*" if meta.get("generateName") else None)
        name = "/".join(str(part) for part in (meta.get("namespace"), own) if part)
        return f"{self.value.get('kind', '?')} {name or '?'}"

    def broken(self, problem: str) -> "ManifestBroken":
        """The error that something is wrong with the object."""
        return ManifestBroken(file=self.file, line=self.line, problem=f"{self.label}: {problem}")

    def line_of(self, field: str) -> int:
        """The line of a field, or of the nearest part of its path that is there."""
        field = plain_path(field)
        while field:
            if field in self.lines:
                return self.lines[field]
            cut = max(field.rfind("."), field.rfind("["))
            field = field[:cut] if cut > 0 else ""
        return self.line


def plain_path(field: str) -> str:
    """A path with the keys of maps written as fields: `limits[cpu]` as `limits.cpu`; indexes stay."""
    return re.sub(r"\[(?!\d+\])([^\]]*)\]", r".\1", field)


class ManifestBroken(Exception):
    """A file that can't be read as manifests; without a line where it can't be read at all."""

    def __init__(self, *, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}" if line else f"{file}: {problem}")
        self.file, self.line, self.problem = file, line, problem


def read_manifests(files: Sequence[Path], *, loose: bool = False) -> list[Document]:
    """All objects of these files, in order. Raises `ManifestBroken`. With `loose`, in the form that makes sense."""
    found: list[Document] = []
    for file in files:
        found.extend(_read(file))
    if not loose:
        return found
    return [
        msgspec.structs.replace(document, value=meant.value)
        for document, meant in zip(found, normalise([one.value for one in found]), strict=True)
    ]


def read_objects(files: Sequence[Path]) -> list[Document]:
    """The same, where each file has to hold something: an answer about nothing reads like a good one. Raises `ManifestBroken`."""
    found: list[Document] = []
    for file in files:
        held = _read(file)
        if not held:
            raise ManifestBroken(file=str(file), line=0, problem="there is no object in it")
        found.extend(held)
    return found


def manifest_files(files: Sequence[Path]) -> list[Path]:
    """Files, and the manifests of folders and their subfolders (but not the scenario that plays them)."""
    found: list[Path] = []
    for file in files:
        if os.path.isdir(file):  # noqa: PTH112 - a name that is too long for any file is an error to Path
            inside = [one for suffix in _SUFFIXES for one in file.rglob(f"*{suffix}") if one.name != "scenario.yaml"]
            if not inside:
                raise ManifestBroken(file=str(file), line=1, problem=f"there is no manifest in this folder ({_SAID})")
            found.extend(sorted(inside))
        else:
            found.append(file)
    return found


def _read(file: Path) -> list[Document]:
    name = str(file)
    documents: list[Document] = []
    try:
        text = text_of(file)
        # JSON may be indented with tabs, which YAML does not take.
        text = (
            re.sub(r"^\t+", lambda tabs: " " * len(tabs.group()), text, flags=re.MULTILINE) if _is_json(text) else text
        )
        for node in yaml_documents(text):
            documents.extend(_documents(name, node))
    except Unreadable as problem:
        raise ManifestBroken(file=name, line=problem.line or 0, problem=problem.problem) from problem
    return documents


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _documents(file: str, node: yaml.Node) -> list[Document]:
    """The object of a document, or the objects of a List."""
    lines: dict[str, int] = {}
    check_each_once(node, but="<<")
    _note_lines(node, "", lines)
    value = _plain(value_of(node))
    if value is None:
        return []
    line = node.start_mark.line + 1
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise ManifestBroken(file=file, line=line, problem="this is not a Kubernetes object: it has no kind")
    items = value.get("items")
    if value["kind"] != "List" or not isinstance(items, list):
        return [Document(file=file, line=line, value=value, lines=lines)]
    found: list[Document] = []
    for index, item in enumerate(items):
        prefix = f"items[{index}]"
        if not isinstance(item, dict) or not isinstance(item.get("kind"), str):
            raise ManifestBroken(
                file=file, line=lines[prefix], problem="this is not a Kubernetes object: it has no kind"
            )
        own = {name.removeprefix(f"{prefix}."): at for name, at in lines.items() if name.startswith(f"{prefix}.")}
        found.append(Document(file=file, line=lines[prefix], value=item, lines=own))
    return found


def _plain(value: Any) -> Any:
    """YAML's dates as the text they were: Kubernetes objects know no dates."""
    if isinstance(value, dict):
        return {str(name): _plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _note_lines(node: yaml.Node, path: str, lines: dict[str, int]) -> None:
    """The line of each field."""
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
