"""What lint says: one mistake, where it stands, and all that a person needs to mend it."""

import msgspec

from ops.files.manifests import Document, ManifestBroken
from services.validation.conversion.convert import written_field
from services.validation.problem import Problem, Severity


class LintFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake."""

    file: str
    line: int
    object: str
    field: str
    severity: str
    code: str
    what: str
    consequence: str
    instead: str


def finding(document: Document, problem: Problem, severity: Severity) -> LintFinding:
    """A problem, at its place in a file."""
    field = written_field(document.value, problem.field)
    return LintFinding(
        file=document.file,
        line=document.line_of(field),
        object=document.label,
        field=field,
        severity=str(severity),
        code=problem.code,
        what=problem.what,
        consequence=problem.consequence,
        instead=problem.instead,
    )


def broken_file(broken: ManifestBroken) -> LintFinding:
    """A file that can't be read."""
    return LintFinding(
        file=broken.file,
        line=broken.line or 1,
        object="",
        field="",
        severity=str(Severity.ERROR),
        code="Broken",
        what=broken.problem,
        consequence="nothing of this file can be read from here on" if broken.line else "nothing of it is looked at",
        instead="YAML or JSON with one Kubernetes object per document"
        if broken.line
        else "the name of a file in UTF-8 that can be read, or of a folder",
    )
