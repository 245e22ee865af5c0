"""The values that an installation may choose, as they stand in plain manifests and in the templates of the chart.

Whoever builds a manifest asks for a value by its path. For plain manifests that is the value itself; for the chart it is a
mark that becomes an expression of Helm's when the template is written.
"""

import re
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.files.yaml_text import yaml_text
from ops.production.configuration.configuration_file import configuration_of

_MARK = re.compile(r"xSLOTx([a-z]+)x((?:[A-Za-z]|__)+)x")
_WHOLE = re.compile(r"(?m)(?<=[:-] )(xSLOTx(?:text|namespace)x(?:[A-Za-z]|__)+?x)$")
"""A text that is nothing but one value: it is quoted, or a number would come out of it."""
_NAMESPACE = "xSLOTxnamespacexRELEASEx"


class ChartValues(Protocol):
    """Values by their path, e.g. `image.repository`."""

    def whole(self, path: str) -> Any:
        """A number, a switch, a list or a mapping."""
        ...

    def text(self, path: str) -> str:
        """A text, perhaps as a part of a longer one."""
        ...

    def quoted_json(self, path: str) -> str:
        """A structure as JSON in a text, e.g. for a file in a ConfigMap."""
        ...

    @property
    def namespace(self) -> str:
        """The namespace in which it is installed."""
        ...

    @property
    def settings(self) -> SettingsObserved:
        """What the configuration says, as far as it is known when the manifests are made."""
        ...


class Chosen:
    """The chart's values as somebody has chosen them, from which plain manifests are made."""

    def __init__(self, values: Mapping[str, Any], namespace: str) -> None:
        self._values, self._namespace = values, namespace

    @property
    def namespace(self) -> str:
        """The namespace in which it is installed."""
        return self._namespace

    @property
    def settings(self) -> SettingsObserved:
        """What the configuration among them says. Raises `ConfigurationBroken`."""
        return configuration_of(self._values["configuration"], "configuration").settings

    def whole(self, path: str) -> Any:
        """The value at a path such as `console.enabled`."""
        found: Any = self._values
        for name in path.split("."):
            found = found[name]
        return found

    def text(self, path: str) -> str:
        """The value, which is a text."""
        return str(self.whole(path))

    def quoted_json(self, path: str) -> str:
        """The value as JSON, with its keys in order, as Helm writes it."""
        return msgspec.json.encode(self.whole(path), order="sorted").decode()


class Templated:
    """Values as expressions of Helm's."""

    namespace = _NAMESPACE
    settings = SettingsObserved()
    """The chart does not know them: its rules are those of the kinds that are known anyway."""

    def whole(self, path: str) -> Any:
        """An expression in place of the whole value."""
        return _mark("json", path)

    def text(self, path: str) -> str:
        """An expression within a text."""
        return _mark("text", path)

    def quoted_json(self, path: str) -> str:
        """An expression in place of the text."""
        return _mark("quoted", path)


def template_text(values: list[JsonObject], condition: str = "") -> str:
    """The template that makes these manifests, all of it under one condition where there is one."""
    text = _WHOLE.sub(_quoted, yaml_text(values))
    text = _MARK.sub(_expression, text)
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else text


def _mark(form: str, path: str) -> str:
    return f"xSLOTx{form}x{path.replace('.', '__')}x"


def _quoted(found: re.Match[str]) -> str:
    return _MARK.sub(_expression, found.group(1)).replace(" }}", " | quote }}")


def _expression(found: re.Match[str]) -> str:
    form, path = found.group(1), found.group(2).replace("__", ".")
    match form:
        case "namespace":
            return "{{ .Release.Namespace }}"
        case "json":
            return f"{{{{ toJson .Values.{path} }}}}"
        case "quoted":
            return f"{{{{ toJson .Values.{path} | quote }}}}"
        case _:
            return f"{{{{ .Values.{path} }}}}"
