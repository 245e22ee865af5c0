"""Labels that look like one of Kueue's and are none are named."""

from pathlib import Path

import pytest

from ops.lint.check import lint


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("kueue.x-k8s.io/queue", "kueue.x-k8s.io/queue-name"),
        ("kueue.x-k8s.io/queueName", "kueue.x-k8s.io/queue-name"),
        ("kueue.x-k8s.io/priorityclass", "kueue.x-k8s.io/priority-class"),
        ("kueue.x-k8s.io/queue-name", ""),
        ("kueue.x-k8s.io/quite-another", ""),
        ("team/queue", ""),
    ],
)
def test_a_label_that_nobody_reads_and_that_looks_like_one_that_is_read_is_told(
    tmp_path: Path, label: str, meant: str
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(
        f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: j, namespace: a, labels: {{{label}: lq}}}}\n"
        "spec: {template: {spec: {containers: [{name: c, image: i}], restartPolicy: Never}}}\n"
    )
    told = [(one.severity, one.code, one.instead) for one in lint([file])]
    assert told == ([("warning", "UnknownLabel", meant)] if meant else [])
