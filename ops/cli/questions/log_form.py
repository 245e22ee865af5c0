"""The forms of `kuelog log show`: more than other answers have, for systems that take in events of others."""

from enum import StrEnum


class LogForm(StrEnum):
    """How what is stored is handed out."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    CLOUDEVENTS = "cloudevents"
