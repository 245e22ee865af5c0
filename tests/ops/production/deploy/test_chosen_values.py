"""What somebody writes into a file of values: the same of it for Helm, which merges it, and for the plain manifests."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from events.json_object import JsonObject
from ops.cli.main import app
from ops.production.deploy.chart import NAMESPACE
from tests.ops.production.deploy.test_manifests import helm, key, needs_helm, our_chart


def by_helm(folder: Path, values: str) -> list[JsonObject]:
    """What Helm renders with a file of values."""
    (folder / "mine.yaml").write_text(values)
    words = ("--namespace", NAMESPACE, "--values", str(folder / "mine.yaml"))
    done = helm(folder, "template", "kuelog", str(our_chart(folder)), *words)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def plain(folder: Path, values: str) -> list[JsonObject]:
    """The plain manifests with a file of values."""
    (folder / "mine.yaml").write_text(values)
    done = CliRunner().invoke(app, ["deploy", "manifests", "--no-bus", "--values", str(folder / "mine.yaml")])
    assert done.exit_code == 0, done.output
    return [one for one in yaml.safe_load_all(done.stdout) if one["kind"] != "Namespace"]


MADE = [pytest.param(by_helm, marks=needs_helm, id="helm"), pytest.param(plain, id="plain")]

VOLUMES = """
witness: {volume: {name: witness, persistentVolumeClaim: {claimName: kuelog-witness}}}
multiKueue:
  enabled: true
  kubeconfigs: {name: kubeconfigs, secret: {secretName: mine}}
  plugins: {name: plugins, hostPath: {path: /opt/plugins}}
"""


@pytest.mark.parametrize("made", MADE)
def test_a_volume_that_is_chosen_is_of_the_one_kind_that_was_written(made: Any, tmp_path: Path) -> None:
    values = yaml.safe_load(VOLUMES)
    chosen = [values["witness"]["volume"], values["multiKueue"]["kubeconfigs"], values["multiKueue"]["plugins"]]
    found: dict[str, JsonObject] = {}
    for one in made(tmp_path, VOLUMES):
        if one["kind"] == "Deployment":
            for volume in one["spec"]["template"]["spec"]["volumes"]:
                assert len(volume) <= 2, f"{one['metadata']['name']}: an API server takes one kind of volume: {volume}"
                found[volume["name"]] = volume
    assert [found[one["name"]] for one in chosen] == chosen
