"""What somebody writes into a file of values: the same of it for Helm, which merges it, and for the plain manifests."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from events.json_object import JsonObject
from ops.cli.main import app
from ops.production.deploy.chart import CHOICES, NAMESPACE, manifests
from tests.ops.production.deploy.test_manifests import helm, needs_helm, our_chart


def by_helm(folder: Path, values: str) -> list[JsonObject]:
    """What Helm renders with a file of values."""
    (folder / "mine.yaml").write_text(values)
    shutil.rmtree(folder / "kuelog", ignore_errors=True)
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


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("mark", ["", "'"], ids=["numbers", "texts"])
def test_a_large_number_is_the_same_one_in_what_is_run(made: Any, mark: str, tmp_path: Path) -> None:
    most, rolled = f"{mark}8589934592{mark}", f"{mark}1073741824{mark}"
    found = made(tmp_path, f"bus: {{maxBytes: {most}}}\narchivist: {{maxBytes: {rolled}, days: {mark}7{mark}}}\n")
    wanted = {"Job": ["8589934592"], "CronJob": ["1073741824", "7"]}
    for one in found:
        if one["kind"] in wanted:
            inner = one["spec"]["jobTemplate"] if one["kind"] == "CronJob" else one
            args = inner["spec"]["template"]["spec"]["containers"][0]["args"]
            told = [args[place + 1] for place, word in enumerate(args) if word in ("--max-bytes", "--days")]
            assert told == wanted.pop(one["kind"])
    assert not wanted


@needs_helm
@pytest.mark.parametrize("values", ["image: {tag: 20261201}", "visibility: 'false'", "bus: {maxBytes: 8Gi}"])
def test_helm_refuses_what_it_would_make_something_else_of(values: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(values)
    done = helm(tmp_path, "template", "kuelog", str(our_chart(tmp_path)), "--values", str(tmp_path / "mine.yaml"))
    assert done.returncode != 0 and "values don't meet the specifications of the schema" in done.stderr


def let_out(found: list[JsonObject], name: str) -> Any:
    """Where a policy lets pods go."""
    [policy] = [one for one in found if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == name]
    return policy["spec"]["egress"]


@pytest.mark.parametrize("made", MADE)
def test_services_are_let_out_to_the_port_of_the_bus_that_is_named(made: Any, tmp_path: Path) -> None:
    found = made(tmp_path, "bus: {address: 'nats.example.org:14222'}")
    assert let_out(found, "kuelog-to-bus") == [{"ports": [{"protocol": "TCP", "port": 14222}]}]


@pytest.mark.parametrize("made", MADE)
def test_the_archivist_is_let_out_to_where_it_archives_and_is_somebody_there(made: Any, tmp_path: Path) -> None:
    rule = {"ports": [{"protocol": "TCP", "port": 443}]}
    assert let_out(made(tmp_path, "replicas: 1"), "kuelog-archivist") == []
    found = made(
        tmp_path, "archivist: {archive: 's3://bucket/kuelog', egress: [{ports: [{protocol: TCP, port: 443}]}]}"
    )
    assert let_out(found, "kuelog-archivist") == [rule]
    [policy] = [
        one for one in found if one["metadata"]["name"] == "kuelog-archivist" and one["kind"] == "NetworkPolicy"
    ]
    [job] = [one for one in found if one["kind"] == "CronJob"]
    template = job["spec"]["jobTemplate"]["spec"]["template"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    [container] = template["spec"]["containers"]
    assert container["envFrom"] == [{"secretRef": {"name": "kuelog-archivist", "optional": True}}]
    assert "s3://bucket/kuelog" in container["args"]


@pytest.mark.parametrize("made", MADE)
def test_who_reads_the_configuration_starts_anew_with_another_one_and_nobody_else_does(
    made: Any, tmp_path: Path
) -> None:
    """A service reads it when it starts; a ConfigMap that changes starts nothing."""
    before, same, after = (
        {
            one["metadata"]["name"]: one["spec"]["template"]
            for one in made(tmp_path, f"configuration: {{manageJobsWithoutQueueName: {held}}}")
            if one["kind"] == "Deployment"
        }
        for held in ("false", "false", "true")
    )
    assert before == same
    assert {name for name in before if before[name] != after[name]} == {"kuelog-watcher", "kuelog-webhook"}


def test_all_but_the_definitions_can_be_taken_away() -> None:
    """With a definition go all of its objects: docs/adopt.md has people delete the manifests of these values."""
    kept = {**CHOICES, "crds": {**CHOICES["crds"], "install": False}}
    kinds, all_kinds = (
        {str(one["kind"]) for found in manifests(choices).values() for one in found} for choices in (kept, CHOICES)
    )
    assert all_kinds - kinds == {"CustomResourceDefinition"}
