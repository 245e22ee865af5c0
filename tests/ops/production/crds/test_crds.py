from collections.abc import Iterator

import pytest
import yaml

from events.json_object import JsonObject
from ops.production.crds.definitions import DEFINITIONS, manifests
from ops.production.crds.files import FOLDER, documents


def test_the_files_are_those_that_the_structs_make() -> None:
    assert {path.name for path in FOLDER.glob("*.yaml")} == set(documents())
    for name, text in documents().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, (
            f"ops/production/crds/{name} is old: python -m ops.production.crds"
        )


def test_a_file_says_what_the_program_says() -> None:
    assert [yaml.safe_load(text) for text in documents().values()] == manifests()


def nodes(schema: JsonObject, path: str) -> Iterator[tuple[str, JsonObject]]:
    yield path, schema
    for name, inner in (schema.get("properties") or {}).items():
        yield from nodes(inner, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from nodes(schema[name], f"{path}.{name}")


@pytest.mark.parametrize("manifest", manifests(), ids=[one.kind for one in DEFINITIONS])
def test_schemas_are_structural_as_the_api_server_demands(manifest: JsonObject) -> None:
    spec = manifest["spec"]
    assert manifest["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}"
    assert [(one["name"], one["storage"]) for one in spec["versions"]] == [("v1beta2", True), ("v1beta1", False)]
    for version in spec["versions"]:
        for path, node in nodes(version["schema"]["openAPIV3Schema"], ""):
            typed = (
                "type" in node
                or node.get("x-kubernetes-int-or-string")
                or node.get("x-kubernetes-preserve-unknown-fields")
            )
            assert typed, f"{path} has no type"
            assert not {"$ref", "anyOf", "title"} & set(node), f"{path} is not structural"
            assert set(node.get("required", ())) <= set(node.get("properties", ())), path
            if "enum" in node and "default" in node:
                assert node["default"] in node["enum"], path


def schema_of(kind: str) -> JsonObject:
    (found,) = [one for one in manifests() if one["spec"]["names"]["kind"] == kind]
    return found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def test_defaults_and_closed_lists_are_those_of_kueue() -> None:
    spec = schema_of("ClusterQueue")["properties"]["spec"]["properties"]
    assert spec["queueingStrategy"] == {
        "type": "string",
        "enum": ["BestEffortFIFO", "StrictFIFO"],
        "default": "BestEffortFIFO",
    }
    assert spec["preemption"]["properties"]["withinClusterQueue"]["default"] == "Never"
    assert spec["resourceGroups"]["maxItems"] == 16
    quota = spec["resourceGroups"]["items"]["properties"]["flavors"]["items"]["properties"]["resources"]["items"]
    assert quota["required"] == ["name", "nominalQuota"]
    assert quota["properties"]["nominalQuota"] == {"x-kubernetes-int-or-string": True}


def test_pod_templates_and_older_fields_are_never_dropped() -> None:
    pod_set = schema_of("Workload")["properties"]["spec"]["properties"]["podSets"]["items"]["properties"]
    assert pod_set["template"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for kind in ("ClusterQueue", "Cohort", "Workload", "MultiKueueCluster"):
        assert schema_of(kind)["properties"]["spec"]["x-kubernetes-preserve-unknown-fields"] is True


def test_every_column_and_short_name_stands_once() -> None:
    short = [name for one in DEFINITIONS for name in one.short]
    assert len(short) == len(set(short))
    for one in manifests():
        columns = [column["name"] for column in one["spec"]["versions"][0]["additionalPrinterColumns"]]
        assert len(columns) == len(set(columns)) and columns[-1] == "Age"
