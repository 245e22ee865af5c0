"""A configuration file among the manifests: what services would refuse when they read it."""

import re

from events.json_object import JsonObject
from ops.production.configuration.configuration_file import ConfigurationBroken, configuration_of
from services.validation.problem import Problem, invalid
from services.validation.unsupported import problems_in

GROUP = "config.kueue.x-k8s.io"
_AT = re.compile(r"(?P<field>[a-z][\w.\[\]]*): (?P<what>.+)", re.DOTALL)


def configuration_problems(value: JsonObject) -> list[Problem]:
    """The first mistake of a Configuration; none of other kinds, or where what is wrong is told as not done yet."""
    group = str(value.get("apiVersion", "")).partition("/")[0]
    if value.get("kind") != "Configuration" or group != GROUP or problems_in(value):
        return []
    try:
        configuration_of(value, "")
    except ConfigurationBroken as broken:
        said = _AT.fullmatch(broken.problem)
        field, what = (said["field"], said["what"]) if said is not None else ("", broken.problem)
        return [invalid(field, "", what)]
    return []
