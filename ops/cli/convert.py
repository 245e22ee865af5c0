"""`kuelog convert`: manifests of older Kueue versions as v1beta2, with a warning for what changes its meaning."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from events.api.labels import QUEUE_NAME
from events.json_object import JsonObject
from ops.files.manifests import Document, ManifestBroken, manifest_files, read_manifests
from ops.files.yaml_text import yaml_text
from ops.lint.finding import LintFinding, finding
from ops.terminal.console import terminal
from ops.terminal.endings import complain
from ops.terminal.form import AnswerForm, print_answer
from services.validation.conversion.convert import ALPHAS, GROUP, to_v1beta2
from services.validation.fields.shape import shape_problems
from services.validation.problem import Problem, Severity

_INCONVERTIBLE = 1


def convert(
    files: Annotated[list[Path], typer.Argument(help="Manifest files or folders; - is standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", help="yaml, or json with the warnings in it.")] = "yaml",
) -> None:
    """Write manifests of v1beta1 and v1alpha2 as v1beta2; everything else goes through as it is.

    Warnings go to standard error. Exit codes: 0 all of it is written; 1 something has no form in v1beta2, and nothing is
    written; 2 a file can't be read.

    Example: kuelog convert old/ | kubectl apply -f -
    """
    if output not in ("yaml", "json"):
        raise typer.BadParameter(f"{output}: yaml or json", param_hint="-o")
    raise typer.Exit(run_convert(files, output=output))


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """What came out: the objects, none if one of them has no form in v1beta2, and all warnings and errors."""

    objects: list[JsonObject]
    findings: list[LintFinding]


def run_convert(files: Sequence[Path], *, output: str) -> int:
    """Convert and print."""
    errors = terminal(stderr=True, soft_wrap=True)
    try:
        found = converted(_documents(files))
    except ManifestBroken as broken:
        return complain(broken)
    failed = any(one.severity == Severity.ERROR for one in found.findings)
    if output == "json":
        print_answer(found, AnswerForm.JSON)
        return _INCONVERTIBLE if failed else 0
    for one in found.findings:
        colour = "red" if one.severity == Severity.ERROR else "yellow"
        errors.print(f"{one.file}:{one.line} [{colour}]{one.severity}[/{colour}] ", end="", highlight=False)
        problem = Problem(
            field=one.field, code=one.code, what=one.what, consequence=one.consequence, instead=one.instead
        )
        errors.print(f"{one.object}: {one.field}: {problem.message}", highlight=False, markup=False)
    sys.stdout.write(yaml_text(found.objects))
    return _INCONVERTIBLE if failed else 0


def converted(documents: Sequence[Document]) -> Converted:
    """The objects of these documents in the stored version."""
    objects: list[JsonObject] = []
    findings: list[LintFinding] = []
    for document in documents:
        newest = to_v1beta2(document.value)
        value, more = _labelled(newest.value)
        problems = [*newest.problems, *_silent_changes(document.value, value), *more]
        if _is_older(document.value):
            problems.extend(shape_problems(value))
        objects.append(value)
        findings.extend(finding(document, one, one.severity) for one in problems)
    if any(one.severity == Severity.ERROR for one in findings):
        objects = []
    return Converted(objects=objects, findings=findings)


def _documents(files: Sequence[Path]) -> list[Document]:
    read = [Path("/dev/stdin") if str(one) == "-" else one for one in files]
    return read_manifests(manifest_files(read))


def _is_older(value: JsonObject) -> bool:
    group, _, version = str(value.get("apiVersion", "")).partition("/")
    return group == GROUP and version in (*ALPHAS, "v1beta1")


def _labelled(value: JsonObject) -> tuple[JsonObject, list[Problem]]:
    """The queue of a job as a label: the annotation of old has not been read since 0.3."""
    meta: Any = value.get("metadata")
    annotations: Any = meta.get("annotations") if isinstance(meta, dict) else None
    if not isinstance(annotations, dict) or QUEUE_NAME not in annotations:
        return value, []
    labels: JsonObject = {QUEUE_NAME: annotations[QUEUE_NAME], **(meta.get("labels") or {})}
    kept = {name: text for name, text in annotations.items() if name != QUEUE_NAME}
    changed: JsonObject = {name: part for name, part in meta.items() if name != "annotations"}
    changed = {**changed, "labels": labels, **({"annotations": kept} if kept else {})}
    problem = _warning(
        f"metadata.annotations.{QUEUE_NAME}",
        "QueueNameAnnotation",
        "the queue is named by an annotation",
        "Kueue has read only the label since 0.3; it is written as the label",
    )
    return {**value, "metadata": changed}, [problem]


def _silent_changes(old: JsonObject, new: JsonObject) -> list[Problem]:
    """What an object of v1alpha2 means differently than its author may think."""
    if str(old.get("apiVersion", "")).partition("/")[2] not in ALPHAS:
        return []
    found: list[Problem] = []
    match new.get("kind"):
        case "ClusterQueue" if (new.get("spec") or {}).get("namespaceSelector") is None:
            found.append(
                _warning(
                    "spec.namespaceSelector",
                    "AdmitsNobody",
                    "no namespaceSelector is given",
                    "the queue admits jobs of no namespace",
                    "namespaceSelector: {} for all of them",
                )
            )
        case "ResourceFlavor" if not old.get("nodeSelector") and (new.get("spec") or {}).get("nodeLabels"):
            found.append(
                _warning(
                    "metadata.labels",
                    "LabelsOfTheFlavor",
                    "the labels of the flavor were the labels of its nodes",
                    "they are written as spec.nodeLabels, and kept as labels",
                )
            )
        case _:
            pass
    return found


def _warning(field: str, code: str, what: str, consequence: str, instead: str = "") -> Problem:
    return Problem(
        field=field, code=code, what=what, consequence=consequence, instead=instead, severity=Severity.WARNING
    )
