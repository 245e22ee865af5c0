"""Objects of older Kueue versions as v1beta2, with a warning for what changes its meaning.

Rule: docs/rules/objects.md#beta1

Nothing here raises: what has not the shape that it should have is left as it is, for the checks that follow.
"""

import re

from events.json_object import JsonObject
from services.validation.conversion.from_alpha import alpha_field, from_alpha
from services.validation.conversion.from_beta1 import from_beta1
from services.validation.problem import ObjectWithProblems, Problem, Severity

GROUP = "kueue.x-k8s.io"
STORED = f"{GROUP}/v1beta2"
ALPHAS = ("v1alpha1", "v1alpha2")


def to_v1beta2(value: JsonObject) -> ObjectWithProblems:
    """The object in the stored version; one that is not Kueue's, or is in it already, comes back as it is."""
    version = str(value.get("apiVersion", ""))
    if not version.startswith(f"{GROUP}/"):
        return ObjectWithProblems(value, [])
    problems: list[Problem] = []
    converted = value
    if version.partition("/")[2] in ALPHAS:
        older = from_alpha(value)
        converted, problems = older.value, older.problems
        problems.append(
            Problem(
                field="apiVersion",
                code="OldVersion",
                what=f"{version} has not been served since Kueue 0.3",
                consequence="Kueue refuses the object",
                instead=f"apiVersion: {STORED}, with its fields",
                severity=Severity.WARNING,
            )
        )
    # The embedded API keeps objects under the version they came in, so fields of v1beta1 may stand anywhere.
    return ObjectWithProblems({**from_beta1(converted), "apiVersion": STORED}, problems)


def written_field(value: JsonObject, field: str) -> str:
    """The path of a v1beta2 field in the object as it was written."""
    version = str(value.get("apiVersion", "")).partition("/")[2]
    if version in ALPHAS and value.get("kind") == "ClusterQueue":
        field = alpha_field(value, field)
    spec = value.get("spec")
    if not isinstance(spec, dict):
        return field
    if "cohort" in spec:
        field = re.sub(r"^spec\.cohortName", "spec.cohort", field)
    if "admissionChecks" in spec:
        field = re.sub(r"^spec\.admissionChecksStrategy\.(admissionChecks\[\d+\])\.name", r"spec.\1", field)
    return field
