"""Jobs whose pods claim devices, beside the configuration, templates, classes and slices among the files: what can't be counted.

What is not among the files may be in the cluster, so a job is judged only where all templates are there that it names.
"""

from collections.abc import Iterator, Sequence

from events.api.jobs import ApiJob
from events.json_object import JsonObject, is_object, object_at, objects_at
from events.pod_set import PodSet
from events.settings import SettingsObserved
from events.workload import WorkloadSpec
from ops.files.reading import Unreadable, yaml_of
from ops.lint.configuration import GROUP
from ops.production.configuration.configuration_file import ConfigurationBroken, configuration_of, in_config_map
from ops.production.loaded_selectors import selectors_for
from projections.claims.counted import counts_claims
from services.validation.problem import Problem
from services.watcher.claims.claim_book import ClaimBook
from services.watcher.claims.counting import BY_NAME
from services.watcher.fields.object_reading import read
from services.watcher.fields.pod_shapes import pod_shape
from services.watcher.fields.problems import Refused

_POD, _CLAIMS = "spec.template.spec", "spec.template.spec.resourceClaims"
_AS_COUNTED = "spec.podSets[0].template.spec"
_FEW = "insufficient matching devices"


class ClaimLint:
    """What the configuration and the objects of resource.k8s.io among the files say of claims."""

    def __init__(self, values: Sequence[JsonObject]) -> None:
        self._settings = next(_configurations(values), SettingsObserved())
        self._book = ClaimBook(self._settings, selectors_for(self._settings))
        self._templates: set[str] = set()
        self._slices = False
        for value in values:
            kind, meta = str(value.get("kind")), object_at(value, "metadata")
            if not self._book.holds(kind):
                continue
            try:
                self._book.see(kind, value)
            except Refused:
                continue  # Reported for the object itself.
            self._slices = self._slices or kind == "ResourceSlice"
            if kind == "ResourceClaimTemplate":
                self._templates.add(f"{meta.get('namespace') or ''}/{meta.get('name')}")

    def problems(self, value: JsonObject) -> list[Problem]:
        """What can't be counted of a Job's claims, in Kueue's words."""
        if value.get("kind") != "Job":
            return []
        pod, space = object_at(value, "spec", "template", "spec"), object_at(value, "metadata").get("namespace") or ""
        claims = objects_at(pod, "resourceClaims")
        named = [index for index, one in enumerate(claims) if one.get("resourceClaimName")]
        if named:
            what = "a claim by name can't be counted, because several pods may share it"
            return [_problem(f"{_CLAIMS}[{named[0]}].resourceClaimName", f"{what}: {BY_NAME}", "a template")]
        wanted = {f"{space}/{name}" for one in claims if (name := one.get("resourceClaimTemplateName"))}
        if not wanted or not counts_claims(self._settings) or wanted - self._templates:
            return []
        try:
            shape = pod_shape(read(value, ApiJob).spec.template, "spec.template")
        except Refused:
            return []  # Reported for the job itself.
        spec = WorkloadSpec(queue="", pod_sets=(PodSet(name="main", count=1, shape=shape),))
        refused = self._book.counted(f"{space}/job", spec).claims_refused.replace(_AS_COUNTED, _POD)
        if not refused or (_FEW in refused and not self._slices):
            return []
        return [_problem(_CLAIMS, refused)]


def _problem(field: str, what: str, instead: str = "") -> Problem:
    return Problem(field=field, code="ClaimNotCounted", what=what, consequence="the job waits", instead=instead)


def _configurations(values: Sequence[JsonObject]) -> Iterator[SettingsObserved]:
    for value in values:
        text = in_config_map(value)
        try:
            found: object = value if text is None else yaml_of(text)
            if is_object(found) and str(found.get("apiVersion", "")).partition("/")[0] == GROUP:
                yield configuration_of(found, "").settings
        except (Unreadable, ConfigurationBroken):
            continue  # Reported for the file itself.
