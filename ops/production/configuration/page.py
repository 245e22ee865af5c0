"""docs/configuration.md: every setting of the file with its type, default and meaning, as its structs say."""

from ops.files.struct_table import struct_rows
from ops.production.configuration.configuration_file import IGNORED, ConfigurationFile

_HEAD = """# Configuration

The file of `--config` (`kuelog up`, `kuelog run`, `kuelog deploy`), in Kueue's own format; what only kuelog knows stands under `kuelog:`. A field
that nobody knows is an error, and so is a value that can't be read: the message names the field and what to write. A **duration** is written
as Go does: `90s`, `5m`, `1h30m`, `500ms`. A **quantity** is Kubernetes' own: `1`, `500m`, `2Gi`. `[]` is each entry of a list, `<key>` each key of a map.

The settings are a fact on the log (`SettingsObserved`), so a decision is replayed under those that it was made under. The file is read when a process starts:
chart and manifests have watcher and webhook start anew when it changes. This page is made by
`python -m ops.cli.reference_pages`.

| setting | type | default | what it says |
|---|---|---|---|
"""
_TAIL = """
Accepted, and of no meaning here because they concern Kueue's own manager process: {ignored}.
"""


def page() -> str:
    """The text of docs/configuration.md."""
    rows = struct_rows(ConfigurationFile)
    return _HEAD + rows + _TAIL.format(ignored=", ".join(f"`{one}`" for one in sorted(IGNORED)))
