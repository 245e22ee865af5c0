"""A configuration file among the manifests: what services would refuse when they read it, and what means something else to Kueue."""

import re

from msgspec.structs import replace

from events.json_object import JsonObject, is_object
from ops.files.reading import Unreadable, yaml_of
from ops.production.configuration.configuration_file import (
    IGNORED,
    KEY,
    ConfigurationBroken,
    ReadConfiguration,
    configuration_of,
    in_config_map,
)
from services.validation.problem import Problem, invalid, warning
from services.validation.unsupported import problems_in

GROUP = "config.kueue.x-k8s.io"
_IN_MAP = f"data[{KEY}]"
_AT = re.compile(r"(?P<field>[a-z][\w.\[\]]*): (?P<what>.+)", re.DOTALL)


def configuration_problems(value: JsonObject) -> list[Problem]:
    """The first mistake of a Configuration, or of one in a ConfigMap, or else its warnings; nothing of other objects."""
    text = in_config_map(value)
    if text is None:
        return _problems(value)
    try:
        inner: object = yaml_of(text)
    except Unreadable as broken:
        return [invalid(_IN_MAP, "", broken.what)]
    found = _problems(inner) if is_object(inner) else [invalid(_IN_MAP, "", "expected the fields of a Configuration")]
    return [replace(one, field=f"{_IN_MAP}{one.field and '.'}{one.field}") for one in found]


def _problems(value: JsonObject) -> list[Problem]:
    group = str(value.get("apiVersion", "")).partition("/")[0]
    if value.get("kind") != "Configuration" or group != GROUP:
        return []
    if not_done := problems_in(value):
        return not_done
    try:
        return _warnings(value, configuration_of(value, ""))
    except ConfigurationBroken as broken:
        said = _AT.fullmatch(broken.problem)
        field, what = (said["field"], said["what"]) if said is not None else ("", broken.problem)
        return [invalid(field, "", what)]


def _warnings(value: JsonObject, found: ReadConfiguration) -> list[Problem]:
    """What means something else here than to Kueue, whose file it is where it sets up Kueue's manager."""
    told = [
        warning(
            one,
            "NoMeaningHere",
            "it is a feature gate of Kueue's by which nothing here is decided",
            "it has no effect",
            "leave it out",
        )
        for one in found.ignored
        if one.startswith("featureGates.")
    ]
    if not found.settings.frameworks and IGNORED & set(value):
        told.append(
            warning(
                "integrations.frameworks",
                "AllKindsManaged",
                "it names no kinds of jobs: Kueue manages only batch/job then, kuelog all that it knows",
                "jobs of other kinds that name a queue are held back until they are let in",
                "the kinds that are to be managed, [batch/job] for those of Kueue",
            )
        )
    return told
