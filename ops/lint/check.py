"""All checks over all files: each object alone, and each in the company of the others."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from events.api.jobs import ApiJob
from events.api.labels import QUEUE_NAME
from events.device_config import DeviceConfigObserved
from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.files.manifests import Document, ManifestBroken, manifest_files, plain_path, read_manifests
from ops.lint.automated_quota import quota_problems
from ops.lint.claims import ClaimLint
from ops.lint.configuration import configuration_problems
from ops.lint.finding import LintFinding, broken_file, finding
from ops.lint.flavor_match import flavor_problems
from ops.lint.hosting import hosting_problems
from ops.lint.identity import doubled, identity_problems
from ops.lint.job_rules import batch_job_problems
from ops.lint.pruning import without_field
from ops.lint.unknown_labels import unknown_label_problems
from projections.devices.card_config import HAMI, CardConfig, card_config
from services.jobs.job_change_rules import job_problems
from services.jobs.kinds.elastic_rules import elastic_problems
from services.jobs.kinds.named_queue import named_queue
from services.jobs.kinds.pods import labels_of
from services.jobs.topology.topology_rules import topology_problems
from services.validation.conversion.convert import STORED, to_v1beta2
from services.validation.crosscheck import Objects, crosscheck
from services.validation.every_kind import validate
from services.validation.fields.shape import shape_problems
from services.validation.fields.unknown_fields import unknown_fields
from services.validation.lenient import normalise
from services.validation.problem import Problem, Severity, required
from services.validation.unsupported import problems_in
from services.watcher.fields.object_reading import read
from services.watcher.fields.pod_shapes import pod_shape
from services.watcher.fields.problems import Refused
from services.watcher.settings.cluster_objects import SIMPLE
from services.watcher.settings.device_config import hami_config, is_hami_config

EXCUSED = frozenset(
    {
        "AnnotationForLabel",
        "FlavorOmitsResource",
        "LimitWithoutCohort",
        "NamespaceExcluded",
        "OldVersion",
        "ParallelismAboveCompletions",
        "ReclaimWithoutCohort",
    }
)
"""Errors that have a sensible meaning all the same: warnings with `--loose`."""
_SETTINGS = SettingsObserved()


class Checked(msgspec.Struct, kw_only=True):
    """A document, its object in v1beta2, and what was found of it so far."""

    document: Document
    value: dict[str, object]
    problems: list[Problem]
    sound: bool
    """Whether it has the shape that its kind asks for; the others are not compared with anything."""


def lint(files: Sequence[Path], *, loose: bool = False) -> list[LintFinding]:
    """Everything that is wrong with these files and folders, by file and line."""
    findings: list[LintFinding] = []
    documents: list[Document] = []
    for given in files:
        try:
            for file in manifest_files([given]):
                documents.extend(_readable(file, findings))
        except ManifestBroken as broken:
            findings.append(broken_file(broken))
    checked = [_alone(document) for document in documents]
    findings.extend(finding(document, problem, problem.severity) for document, problem in doubled(documents))
    sound = [one for one in checked if one.sound]
    if loose:
        for one, meant in zip(sound, normalise([one.document.value for one in sound]), strict=True):
            one.value = meant.value
            one.problems = [*meant.problems, *(found for found in one.problems if found.code != "OldVersion")]
    objects = Objects([one.value for one in sound], _card_config(sound))
    claims = ClaimLint([one.value for one in sound])
    for one in sound:
        one.problems.extend([*_rules(one.value, objects), *claims.problems(one.value)])
    for one in checked:
        findings.extend(
            finding(one.document, problem, Severity.WARNING if loose and problem.code in EXCUSED else problem.severity)
            for problem in _once(one.problems)
        )
    return sorted(findings, key=lambda one: (one.file, one.line, one.field, one.code))


def _card_config(checked: Sequence[Checked]) -> CardConfig:
    """How cards are asked for, by HAMi's configuration among the files; as its chart has it where there is none."""
    for one in checked:
        if is_hami_config(one.value):
            try:
                found = hami_config(one.value)
            except Refused:
                continue  # Reported for the map itself.
            configs = [fact for fact in found if isinstance(fact, DeviceConfigObserved)]
            if configs:
                return card_config(configs[0])
    return HAMI


def _readable(file: Path, findings: list[LintFinding]) -> list[Document]:
    try:
        return read_manifests([file])
    except ManifestBroken as broken:
        findings.append(broken_file(broken))
        return []


def _alone(document: Document) -> Checked:
    newest = to_v1beta2(document.value)
    value, problems = newest.value, newest.problems
    misshapen, value, sound = _all_shape_problems(value)
    # A field of an older version is unknown in an object that says it is of the newest.
    shown = document.value if document.value.get("apiVersion") == STORED else newest.value
    found = [*problems, *identity_problems(document.value), *unknown_fields(shown), *misshapen]
    return Checked(document=document, value=value, problems=[*found, *_nameless_version(value)], sound=sound)


def _all_shape_problems(value: JsonObject) -> tuple[list[Problem], JsonObject, bool]:
    """Every field that is not what it has to be, the object without these fields, and whether it is sound then."""
    found: list[Problem] = []
    while problems := shape_problems(value):
        (one,) = problems
        less = without_field(value, one.field)
        if less is None:
            return [*found, *([one] if one.field not in {other.field for other in found} else [])], value, False
        found.append(one)
        value = less
    return found, value, True


def _nameless_version(value: dict[str, object]) -> list[Problem]:
    if value.get("apiVersion"):
        return []
    return [
        required("apiVersion", "no apiVersion is given: the object is of no kind that a cluster knows", "e.g. batch/v1")
    ]


def _rules(value: dict[str, object], objects: Objects) -> list[Problem]:
    found = [*crosscheck(value, objects), *validate(value, _SETTINGS)]
    found += [*topology_problems(value, _SETTINGS), *problems_in(value), *batch_job_problems(value)]
    found += unknown_label_problems(value)
    if named_queue(value) or labels_of(value).get(QUEUE_NAME) == "":
        found += [*job_problems(None, value, _SETTINGS), *elastic_problems(None, value, _SETTINGS)]
    found += [*configuration_problems(value), *quota_problems(value, objects)]
    if value.get("kind") == "Job":
        found += flavor_problems(value, objects)
    if value.get("kind") == "Job" and not any(one.code.startswith("Exceeds") for one in found):
        found += hosting_problems(value, objects)
    try:
        _translate(value)
    except Refused as refused:
        found.extend(
            Problem(field=one.field, code="Invalid", what=one.message, instead=one.instead) for one in refused.problems
        )
    return found


def _translate(value: dict[str, object]) -> None:
    """What the watcher does with it. Raises `Refused`."""
    kind = str(value.get("kind"))
    if kind in SIMPLE:
        SIMPLE[kind](value)
    elif is_hami_config(value):
        hami_config(value)
    elif kind == "Job":
        pod_shape(read(value, ApiJob).spec.template, "spec.template")


def _once(problems: Sequence[Problem]) -> list[Problem]:
    """Of several rules that speak of the same field, the first; what names an omission may stand beside another."""
    found: list[Problem] = []
    for one in problems:
        same_field = [other for other in found if plain_path(other.field) == plain_path(one.field)]
        if not same_field or (
            one.code not in ("Invalid", "Required") and one.code not in [other.code for other in same_field]
        ):
            found.append(one)
    return found
