"""Claims of devices that can't be counted are found before anything is created, in Kueue's words."""

from pathlib import Path

import pytest
import yaml

from events.json_object import JsonObject
from ops.lint.check import lint
from tests.services.watcher.claims.claim_objects import device_class, resource_slice, template

CLAIMS = "spec.template.spec.resourceClaims"
MAPPED: JsonObject = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "resources": {"deviceClassMappings": [{"name": "example.com/gpus", "deviceClassNames": ["a"]}]},
}


def job(**claim: str) -> JsonObject:
    pod = {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}],
        "resourceClaims": [{"name": "g", **claim}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default"},
        "spec": {"template": {"spec": pod}},
    }


def claims_found(folder: Path, *objects: JsonObject) -> list[tuple[str, str]]:
    file = folder / "it.yaml"
    file.write_text(
        yaml.safe_dump_all([{**one, "metadata": _named(one)} if "metadata" in one else one for one in objects])
    )
    return [(one.field, one.what) for one in lint([file]) if one.code == "ClaimNotCounted"]


def _named(one: JsonObject) -> JsonObject:
    return {name: value for name, value in one["metadata"].items() if name != "uid"}


BY_TEMPLATE = job(resourceClaimTemplateName="two")
PICKY = template("two", [{"class": "a", "count": 2, "cel": "device.driver == 'd'"}])
ONE = resource_slice("s", driver="d", devices={"g0": {}})


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ((MAPPED, template("two", [{"class": "nic"}])), "DeviceClass nic is not mapped in DRA configuration"),
        ((MAPPED, template("two", [{"class": "a", "mode": "All"}])), "AllocationMode 'All' is not supported"),
        ((MAPPED, template("two", [{"class": "a", "cel": "device."}])), "CEL compilation failed"),
        ((MAPPED, device_class("a"), PICKY, ONE), "1 device(s) match in the cluster but 2 requested"),
    ],
    ids=["not mapped", "all", "expression", "too few"],
)
def test_a_job_whose_claims_can_not_be_counted_is_told_why(
    objects: tuple[JsonObject, ...], words: str, tmp_path: Path
) -> None:
    ((field, what),) = claims_found(tmp_path, *objects, BY_TEMPLATE)
    assert field == CLAIMS and words in what and "podSets" not in what


def test_a_claim_by_name_is_never_counted(tmp_path: Path) -> None:
    ((field, what),) = claims_found(tmp_path, job(resourceClaimName="mine"))
    assert field == f"{CLAIMS}[0].resourceClaimName" and "does not support use of resource claims" in what


@pytest.mark.parametrize(
    "objects",
    [
        (MAPPED, template("two", [{"class": "a", "count": 2}])),
        (MAPPED,),
        (template("two", [{"class": "nic"}]),),
        (MAPPED, device_class("a"), PICKY),
    ],
    ids=["all is well", "the template may be in the cluster", "no configuration", "slices are in the cluster"],
)
def test_what_may_be_in_the_cluster_is_not_missed(objects: tuple[JsonObject, ...], tmp_path: Path) -> None:
    assert claims_found(tmp_path, *objects, BY_TEMPLATE) == []
