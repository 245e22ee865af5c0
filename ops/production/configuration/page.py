"""docs/configuration.md: every setting of the file with its type, default and meaning, as its structs say, and every feature gate."""

from collections.abc import Iterable

from ops.files.struct_table import struct_rows
from ops.production.configuration.configuration_file import IGNORED, ConfigurationFile
from ops.production.configuration.gate_words import GATE_WORDS
from ops.production.configuration.gates import LOCKED, NEEDS, RENAMED, WITHOUT_MEANING
from projections.feature_gates import DEFAULTS

_HEAD = """# Configuration

The file of `--config` (`kuelog up`, `run`, `adopt`, `import-pods`, `deploy manifests`), of `configuration` among the [values](deploy.md#install) and of
a scenario, in Kueue's own format; what only kuelog knows stands under `kuelog:`. Without a file the defaults below hold (a scenario without one waits
for no pods). A field that nobody knows is an error, and so is a value that can't be read: the message names the field and what to write. A **duration** is
written as Go does: `90s`, `5m`, `1h30m`, `500ms`. A **quantity** is Kubernetes' own: `1`, `500m`, `2Gi`. `[]` is each entry of a list, `<key>` each key of a map.

The settings are a fact on the log (`SettingsObserved`), so a decision is replayed under those that it was made under. The file is read when a process starts:
chart and manifests have watcher and webhook start anew when it changes. This page is made by
`python -m ops.cli.reference_pages`.

| setting | type | default | what it says |
|---|---|---|---|
"""
_TAIL = """
Accepted, and of no meaning here because they concern Kueue's own manager process: {ignored}.

## Feature gates

Those that count here, with what is so while they are on ([rule](rules/objects.md#feature-gates)).

| gate | by default | needs | what is so while it is on |
|---|---|---|---|
{gates}
By their names before: {renamed}. Always on, and refused when they are turned off: {locked}. Taken, named when the file is read, and of no meaning here: {without}.
"""


def page() -> str:
    """The text of docs/configuration.md."""
    rows = struct_rows(ConfigurationFile)
    return (
        _HEAD
        + rows
        + _TAIL.format(
            ignored=_listed(IGNORED),
            gates="".join(map(_gate_row, sorted(DEFAULTS))),
            renamed=", ".join(f"`{before}` ({now})" for before, now in sorted(RENAMED.items())),
            locked=_listed(LOCKED),
            without=_listed(WITHOUT_MEANING),
        )
    )


def _gate_row(gate: str) -> str:
    on = "on" if DEFAULTS[gate] else "off"
    return f"| `{gate}` | {on} | {_listed(NEEDS.get(gate, ()))} | {GATE_WORDS[gate]} |\n"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{one}`" for one in sorted(names))
