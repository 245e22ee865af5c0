"""All checks over all files: each object alone, and each in the company of the others."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from events.api.jobs import ApiJob
from ops.manifests import Document, ManifestBroken, loosened, read_manifests
from projections.validation.conversion import to_v1beta2
from projections.validation.crosscheck import Objects, crosscheck
from projections.validation.problem import Problem, Severity
from projections.validation.unknown_fields import unknown_fields
from services.watcher.cluster_objects import read
from services.watcher.pod_shapes import pod_shape
from services.watcher.problems import Refused
from services.watcher.view import SIMPLE


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake: where it stands, and all that a person needs to mend it."""

    file: str
    line: int
    object: str
    field: str
    severity: str
    code: str
    what: str
    consequence: str
    instead: str


EXCUSED = frozenset(
    {
        "FlavorOmitsResource",
        "LimitWithoutCohort",
        "ReclaimWithoutCohort",
        "AnnotationForLabel",
        "ParallelismAboveCompletions",
        "NamespaceExcluded",
        "OldVersion",
    }
)
"""Errors that have a sensible meaning all the same: warnings with `--loose`."""


def lint(files: Sequence[Path], *, loose: bool = False) -> list[Finding]:
    """Everything that is wrong with these files and folders, by file and line."""
    findings: list[Finding] = []
    documents: list[Document] = []
    for file in manifest_files(files):
        try:
            documents.extend(read_manifests([file]))
        except ManifestBroken as broken:
            findings.append(_broken(broken))
    objects = Objects([one.value for one in documents])
    for document in documents:
        for problem in _problems(document, objects, loose=loose):
            findings.append(_finding(document, problem, loose=loose))
    if loose:
        for document, problems in loosened(documents):
            known = {(one.line, one.code) for one in findings if one.object == document.label}
            findings.extend(
                found
                for problem in problems
                if ((found := _finding(document, problem, loose=True)).line, found.code) not in known
            )
    return sorted(findings, key=lambda one: (one.file, one.line, one.field, one.code))


def manifest_files(files: Sequence[Path]) -> list[Path]:
    """Files, and the manifests of folders (but not the scenario that plays them)."""
    found: list[Path] = []
    for file in files:
        inside = sorted(one for one in file.glob("*.y*ml") if one.name != "scenario.yaml") if file.is_dir() else [file]
        found.extend(inside)
    return found


def _problems(document: Document, objects: Objects, *, loose: bool) -> list[Problem]:
    value, problems = to_v1beta2(document.value)
    found = [*problems, *unknown_fields(value), *crosscheck(value, objects)]
    if loose:
        value = loosened([document])[0][0].value
    try:
        kind = str(value.get("kind"))
        if kind in SIMPLE:
            SIMPLE[kind](value)
        elif kind == "Job":
            pod_shape(read(value, ApiJob).spec.template, "spec.template")
    except Refused as refused:
        known = {one.field for one in found}
        found.extend(
            Problem(field=one.field, code="Invalid", what=one.message, instead=one.instead)
            for one in refused.problems
            if one.field.replace("[", ".").replace("]", "")
            not in {name.replace("[", ".").replace("]", "") for name in known}
        )
    return found


def _finding(document: Document, problem: Problem, *, loose: bool) -> Finding:
    severity = Severity.WARNING if loose and problem.code in EXCUSED else problem.severity
    return Finding(
        file=document.file,
        line=document.line_of(problem.field),
        object=document.label,
        field=problem.field,
        severity=str(severity),
        code=problem.code,
        what=problem.what,
        consequence=problem.consequence,
        instead=problem.instead,
    )


def _broken(broken: ManifestBroken) -> Finding:
    return Finding(
        file=broken.file,
        line=broken.line,
        object="",
        field="",
        severity=str(Severity.ERROR),
        code="Broken",
        what=broken.problem,
        consequence="nothing of this file can be read from here on",
        instead="YAML or JSON with one Kubernetes object per document",
    )
