from pathlib import Path

import pytest

from ops.files.manifests import ManifestBroken, manifest_files, plain_path, read_manifests

TWO = """\
# a comment
apiVersion: v1
kind: Namespace
metadata:
  name: a
---
apiVersion: batch/v1
kind: Job
metadata:
  generateName: train-
  namespace: a
spec:
  template:
    spec:
      containers:
      - name: c
        resources:
          limits: {cpu: 1}
"""


def test_each_document_knows_its_lines_and_its_label(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(TWO)
    first, second = read_manifests([path])
    assert (first.place, first.label) == (f"{path}:2", "Namespace a")
    assert (second.label, second.line_of("spec.template.spec.containers[0].resources.limits[cpu]")) == (
        "Job a/train-*",
        18,
    )
    assert second.line_of("spec.template.spec.containers[0].image") == 16
    assert second.line_of("status.active") == second.line


def test_json_with_tabs_and_lists_of_objects_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text('{\n\t"kind": "List",\n\t"items": [\n\t\t{"kind": "Namespace", "metadata": {"name": "a"}}\n\t]\n}')
    (found,) = read_manifests([path])
    assert (found.label, found.line, found.line_of("metadata.name")) == ("Namespace a", 4, 4)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a: [", 1, "broken YAML"),
        ("kind: A\n---\n- 1\n", 3, "it has no kind"),
        ("kind: A\nspec: 1\nspec: 2\n", 3, "field spec is given twice, on line 2"),
        ("kind: A\nspec: &x [*x]\n", 2, "an anchor that holds itself"),
        ("kind: A\nspec: \x07\n", 2, "broken YAML"),
        ("kind: A\nspec: !secret x\n", 2, "broken YAML"),
        ("[" * 3000, 1, "nested too deeply"),
        (
            "a: &a [x,x,x,x,x,x,x,x]\n"
            + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 8)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)),
            1,
            "fields",
        ),
    ],
    ids=["yaml", "kind", "twice", "itself", "control", "tag", "deep", "bomb"],
)
def test_a_broken_file_is_one_clear_error_with_its_line(text: str, line: int, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ManifestBroken, match=told) as raised:
        read_manifests([path])
    assert raised.value.line >= line
    assert str(raised.value).startswith(f"{path}:")


def test_a_folder_is_searched_and_an_empty_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.yaml", "a.yml", "sub/c.json", "scenario.yaml", "notes.txt"):
        (tmp_path / name).write_text("kind: A\n")
    assert manifest_files([tmp_path]) == [tmp_path / name for name in ("a.yml", "b.yaml", "sub/c.json")]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ManifestBroken, match="there is no manifest in this folder"):
        manifest_files([tmp_path / "empty"])


def test_keys_of_maps_are_fields_and_indexes_stay() -> None:
    assert plain_path("a[0].limits[nvidia.com/gpu]") == "a[0].limits.nvidia.com/gpu"
