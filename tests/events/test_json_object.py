"""Reading of JSON by paths of fields."""

import pytest

from events.json_object import array_at, object_at, objects_at

POD = {"metadata": {"labels": {"team": "a"}}, "spec": {"containers": [{"name": "main"}, None, "?"], "nodeName": "n1"}}


def test_an_object_is_found_by_its_fields() -> None:
    assert object_at(POD, "metadata", "labels") == {"team": "a"}
    assert object_at(POD) == POD


def test_an_array_is_found_by_its_fields() -> None:
    assert array_at({"values": ["a", 1]}, "values") == ["a", 1]
    assert array_at({"values": ("a",)}, "values") == ("a",)


@pytest.mark.parametrize(
    "path", [("status",), ("metadata", "annotations"), ("spec", "nodeName"), ("spec", "nodeName", "of"), ("a", "b")]
)
def test_where_nothing_is_or_something_else_all_readers_answer_empty(path: tuple[str, ...]) -> None:
    assert object_at(POD, *path) == {}
    assert list(array_at(POD, *path)) == []
    assert objects_at(POD, *path) == []


def test_nothing_at_all_reads_as_empty() -> None:
    assert object_at(None, "metadata") == {}
    assert list(array_at(None, "spec")) == []


def test_an_array_is_no_object_and_an_object_no_array() -> None:
    assert object_at(POD, "spec", "containers") == {}
    assert list(array_at(POD, "spec")) == []


def test_objects_of_an_array_keep_their_places() -> None:
    """Problems name entries by their places, so what is no object must not move the others."""
    assert objects_at(POD, "spec", "containers") == [{"name": "main"}, {}, {}]
