"""Where an object is, whatever it says of itself."""

import pytest

from events.json_object import JsonObject
from services.watcher.seen_versions import SeenVersions, place_in


@pytest.mark.parametrize("namespace", ["team", "", None, 5, [], {"a": []}])
def test_any_object_has_a_place_whatever_it_gives_as_its_namespace(namespace: object) -> None:
    value: JsonObject = {"metadata": {"name": "a", "namespace": namespace}}
    assert place_in("Job", value) == f"Job/{namespace}/a"


def test_an_object_that_is_seen_again_is_held_by_the_words_that_are_there() -> None:
    seen, uid = SeenVersions(), "".join(("u", "-1"))
    for version in ("7", "8"):
        seen.note("Job", {"metadata": {"name": "a", "namespace": "team", "uid": uid, "resourceVersion": version}})
        uid = "".join(("u", "-1"))
    about = seen.about("Job/team/a")
    assert (about.uid, about.version) == ("u-1", 8) and about.uid is not uid
