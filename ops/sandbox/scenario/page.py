"""docs/scenarios.md: how a scenario is written, as its structs say."""

from ops.files.struct_table import struct_rows
from ops.sandbox.scenario.script import Script

_HEAD = """# Scenarios

`kuelog demo FOLDER` plays the scenario.yaml of a folder on a cluster that it brings along, and holds what happened against what is expected of
it. [examples](../examples/concepts/preemption) has small ones. Without a scenario.yaml all manifests of the folder are applied at once and each
job has to finish: those that the API server would refuse are taken loosely, missing namespaces are made, and
nodes for flavors whose labels none has; a job without a namespace goes where its queue is. What is missing beyond that is named at the start.

Times are seconds of the scenario, which run `clockScale` times as fast as the wall's while nothing is to be decided. A step happens at its time,
or later, once all that it needs is so; so a busy machine plays more slowly, and not another scenario. A job runs for as long as the annotation
`kuelog.io/run-seconds` of its pods says. `[]` is each entry of a list. This page is made by `python -m ops.cli.reference_pages`.

| field | type | default | what it says |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return _HEAD + struct_rows(Script)
