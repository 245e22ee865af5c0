"""The names of streams and the subjects that messages are filed under."""

FACTS = "FACTS"
CONTROL = "CONTROL"

CLUSTER = "_cluster"
"""The place of facts that belong to no tree."""


def decisions_stream(partition: str) -> str:
    """The stream of a partition's decisions."""
    return f"LOG_{partition}"


def devices_stream(pool: str) -> str:
    """The stream of a node pool's device decisions."""
    return f"DEVICES_{pool}"


def fact_subject(tree: str, kind: str) -> str:
    """The subject of a fact: its tree, or `_cluster`, and its kind."""
    return f"kuelog.facts.{_token(tree or CLUSTER)}.{_token(kind)}"


def commit_subject(stream: str, author: str) -> str:
    """The subject of a commit: its lane and its author."""
    family, _, place = stream.partition("_")
    room = {"LOG": "log", "DEVICES": "devices"}.get(family, family.lower())
    return f"kuelog.{room}.{_token(place)}.{_token(author)}"


def _token(text: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in text) or "_"
