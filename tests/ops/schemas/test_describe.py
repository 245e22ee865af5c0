"""What describes the log to programs is current, and true of what is stored."""

import re

import pytest

from events.authors import AUTHORS
from events.subjects import CONTROL, commit_subject, decisions_stream, devices_stream, fact_subject, family_of
from ops.production.log.streams import SOLE
from ops.schemas.describe import FOLDER, async_api, documents


def test_the_described_schemas_are_current() -> None:
    for name, text in documents().items():
        assert (FOLDER / name).read_bytes() == text, f"docs/{name} is old: python -m ops.schemas"


@pytest.mark.parametrize(
    "subject",
    [
        fact_subject("", "NodeObserved"),
        *(
            commit_subject(stream, author.name)
            for stream in (CONTROL, decisions_stream("0"), devices_stream("default"))
            for author in AUTHORS.values()
            if author.family == family_of(stream)
        ),
    ],
)
def test_every_subject_that_is_written_to_is_an_address_of_a_channel(subject: str) -> None:
    assert [name for name, channel in async_api()["channels"].items() if _holds(channel, subject)] != []


def test_an_author_of_another_family_has_no_address_there() -> None:
    channels = async_api()["channels"]
    assert not any(_holds(channel, commit_subject(CONTROL, "admitter")) for channel in channels.values())


def test_every_place_in_an_address_is_a_parameter_and_every_message_says_its_form() -> None:
    for channel in async_api()["channels"].values():
        assert set(re.findall(r"\{(\w+)\}", channel["address"])) == set(channel["parameters"])
        for message in channel["messages"].values():
            message = async_api()["components"]["messages"][message["$ref"].rpartition("/")[2]]
            assert message["contentType"] == "application/json"
            assert message["payload"]["schemaFormat"] == "application/schema+json;version=draft-2020-12"


def test_every_channel_is_sent_to_and_received_from() -> None:
    found = async_api()
    for name in found["channels"]:
        actions = [
            one["action"]
            for one in found["operations"].values()
            if one["channel"]["$ref"] == f"#/channels/{name}" and one["messages"]
        ]
        assert sorted(actions) == ["receive", "send"]
    assert {family_of(name) for name in found["channels"]} == {family_of(name) for name in SOLE.every}


def _holds(channel: dict, subject: str) -> bool:  # type: ignore[type-arg]
    pattern = re.escape(channel["address"])
    for name, parameter in channel["parameters"].items():
        words = "|".join(map(re.escape, parameter.get("enum", ()))) or "[^.]+"
        pattern = pattern.replace(re.escape("{" + name + "}"), f"(?:{words})")
    return re.fullmatch(pattern, subject) is not None
