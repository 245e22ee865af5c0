"""The values that an installation may choose, as they stand in plain manifests and in the templates of the chart.

Whoever builds a manifest asks for a value by its path. For plain manifests that is the value itself; for the chart it is a
mark that becomes an expression of Helm's when the template is written.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from events.json_object import JsonObject
from events.settings import SettingsObserved
from ops.files.yaml_text import yaml_text
from ops.production.configuration.configuration_file import configuration_of

_MARK = re.compile(r"xSLOTx([a-z]+)x((?:[A-Za-z]|__)+)x")
_WHOLE = re.compile(r"(?m)(?<=[:-] )(xSLOTx(?:text|count|namespace)x(?:[A-Za-z]|__)+?x)$")
"""A text that is nothing but one value: it is quoted, or a number would come out of it."""
_LINE = re.compile(r"(?m)^( *)xSLOTxunlessx((?:[A-Za-z]|__)+?)x(.*\n)")
_NAMESPACE = "xSLOTxnamespacexRELEASEx"
_REVISION = "-xSLOTxrevisionxRELEASEx"


def value_at(values: Mapping[str, Any], path: str) -> Any:
    """The value at a path such as `console.enabled`."""
    found: Any = values
    for name in path.split("."):
        found = found[name]
    return found


class ChartValues(Protocol):
    """Values by their path, e.g. `image.repository`."""

    def whole(self, path: str) -> Any:
        """A number, a switch, a list or a mapping."""
        ...

    def text(self, path: str) -> str:
        """A text, perhaps as a part of a longer one."""
        ...

    def count(self, path: str) -> str:
        """A whole number as a text, whether it was written as a number or in quotes."""
        ...

    def port(self, path: str) -> Any:
        """The port of an address such as HOST:PORT, as a number."""
        ...

    def quoted_json(self, path: str) -> str:
        """A structure as JSON in a text, e.g. for a file in a ConfigMap."""
        ...

    def configuration_file(self) -> str:
        """The text of the configuration file."""
        ...

    def configuration_sum(self) -> str:
        """What that text comes to: another text has another sum."""
        ...

    def unless(self, switch: str, name: str, path: str) -> JsonObject:
        """A field of that name with the whole value at a path, while a switch is off; else no field."""
        ...

    def numbers(self, path: str) -> Sequence[str]:
        """The numbers from 1 to below the value, each as a text that may be a part of a longer one."""
        ...

    @property
    def namespace(self) -> str:
        """The namespace in which it is installed."""
        ...

    @property
    def revision(self) -> str:
        """What ends the name of an object that each upgrade makes anew, because no API server changes one; empty where nobody counts upgrades."""
        ...

    @property
    def settings(self) -> SettingsObserved:
        """What the configuration says, as far as it is known when the manifests are made."""
        ...


class Chosen:
    """The chart's values as somebody has chosen them, from which plain manifests are made."""

    revision = ""

    def __init__(self, values: Mapping[str, Any], namespace: str) -> None:
        self._values, self._namespace = values, namespace

    @property
    def namespace(self) -> str:
        """The namespace in which it is installed."""
        return self._namespace

    @property
    def settings(self) -> SettingsObserved:
        """What the configuration among them says. Raises `ConfigurationBroken`."""
        found = {**self._values["configuration"], "namespace": self._namespace}
        return configuration_of(found, "configuration").settings

    def whole(self, path: str) -> Any:
        """The value at a path."""
        return value_at(self._values, path)

    def text(self, path: str) -> str:
        """The value, which is a text."""
        return str(self.whole(path))

    def count(self, path: str) -> str:
        """The number."""
        return str(self.whole(path))

    def port(self, path: str) -> Any:
        """The port."""
        return int(self.text(path).rpartition(":")[2])

    def quoted_json(self, path: str) -> str:
        """The value as JSON, with its keys in order, as Helm writes it."""
        return msgspec.json.encode(self.whole(path), order="sorted").decode()

    def configuration_file(self) -> str:
        """The text of the configuration file that all services read, with the namespace in which they run."""
        found = {**self.whole("configuration"), "namespace": self._namespace}
        return msgspec.json.encode(found, order="sorted").decode()

    def configuration_sum(self) -> str:
        """The sum."""
        return hashlib.sha256(self.configuration_file().encode()).hexdigest()

    def unless(self, switch: str, name: str, path: str) -> JsonObject:
        """The field, or nothing."""
        return {} if self.whole(switch) else {name: self.whole(path)}

    def numbers(self, path: str) -> Sequence[str]:
        """The numbers."""
        return [str(number) for number in range(1, self.whole(path))]


class Templated:
    """Values as expressions of Helm's."""

    namespace, revision = _NAMESPACE, _REVISION
    settings = SettingsObserved()
    """The chart does not know them: its rules are those of the kinds that are known anyway."""

    def whole(self, path: str) -> Any:
        """An expression in place of the whole value."""
        return _mark("json", path)

    def text(self, path: str) -> str:
        """An expression within a text."""
        return _mark("text", path)

    def count(self, path: str) -> str:
        """An expression within a text. Numbers of a file of values are floats to Helm: it would write a large one as 4.2e+09."""
        return _mark("count", path)

    def port(self, path: str) -> Any:
        """An expression in place of the number."""
        return _mark("port", path)

    def quoted_json(self, path: str) -> str:
        """An expression in place of the text."""
        return _mark("quoted", path)

    def configuration_file(self) -> str:
        """An expression in place of the text; what is named first in a merge stands."""
        return _mark("file", "configuration")

    def configuration_sum(self) -> str:
        """An expression in place of the sum."""
        return _mark("sum", "configuration")

    def unless(self, switch: str, name: str, path: str) -> JsonObject:
        """A line that is left out."""
        return {_mark("unless", switch) + name: self.whole(path)}

    def numbers(self, path: str) -> Sequence[str]:
        """One text that stands for each of them, in a template that is repeated for these numbers."""
        return [_mark("number", path)]


def template_text(values: list[JsonObject], condition: str = "", repeated: str = "") -> str:
    """The template that makes these manifests, all of it under one condition where there is one, or for each number below a value."""
    text = _WHOLE.sub(_quoted, yaml_text(values))
    text = _LINE.sub(_left_out, text)
    text = _MARK.sub(_expression, text)
    if repeated:
        return f"{{{{- range $number := untilStep 1 (int .Values.{repeated}) 1 }}}}\n---\n{text}{{{{- end }}}}\n"
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else text


def _mark(form: str, path: str) -> str:
    return f"xSLOTx{form}x{path.replace('.', '__')}x"


def _quoted(found: re.Match[str]) -> str:
    return _MARK.sub(_expression, found.group(1)).replace(" }}", " | quote }}")


def _left_out(found: re.Match[str]) -> str:
    before, switch, line = found.groups()
    return f"{before}{{{{- if not $.Values.{switch.replace('__', '.')} }}}}\n{before}{line}{before}{{{{- end }}}}\n"


def _expression(found: re.Match[str]) -> str:
    form, path = found.group(1), found.group(2).replace("__", ".")
    match form:
        case "namespace":
            return "{{ $.Release.Namespace }}"
        case "revision":
            return "{{ $.Release.Revision }}"
        case "json":
            return f"{{{{ toJson $.Values.{path} }}}}"
        case "quoted":
            return f"{{{{ toJson $.Values.{path} | quote }}}}"
        case "file" | "sum":
            turned = "quote" if form == "file" else "sha256sum"
            return f'{{{{ toJson (merge (dict "namespace" $.Release.Namespace) $.Values.{path}) | {turned} }}}}'
        case "count":
            return f"{{{{ int64 $.Values.{path} }}}}"
        case "port":
            return f'{{{{ splitList ":" $.Values.{path} | last | int64 }}}}'
        case "number":
            return "{{ $number }}"
        case _:
            return f"{{{{ $.Values.{path} }}}}"
