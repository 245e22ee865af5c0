"""The names of streams and the subjects that messages are filed under."""

from collections.abc import Sequence
from functools import lru_cache

FACTS = "FACTS"
CONTROL = "CONTROL"
LOG = "LOG"
DEVICES = "DEVICES"

CLUSTER = "_cluster"
"""The place of facts that belong to no tree."""


def decisions_stream(number: str) -> str:
    """The partition of that number: the stream of what is decided about its trees."""
    return f"{LOG}_{number}"


def devices_stream(pool: str) -> str:
    """The partition of a node pool: the stream of what is decided about its cards."""
    return f"{DEVICES}_{pool}"


@lru_cache(maxsize=256)
def family_of(stream: str) -> str:
    """What kind of stream it is: FACTS, CONTROL, LOG or DEVICES."""
    return stream.partition("_")[0]


def fact_subject(tree: str, kind: str) -> str:
    """The subject of a fact: its tree, or `_cluster`, and its kind."""
    return f"kuelog.facts.{_token(tree or CLUSTER)}.{_token(kind)}"


def routed_subject(partition: str, kind: str) -> str:
    """The subject of a fact that one partition of trees folds and no other: the partition, and its kind.

    Rule: docs/decisions/0090-facts-go-to-the-partition-that-folds-them.md
    """
    return f"{_ROUTED}{_token(partition)}.{_token(kind)}"


@lru_cache(maxsize=1024)
def addressee(subject: str) -> str:
    """The partition that a fact under this subject is for alone; empty where it is for all of them."""
    if not subject.startswith(_ROUTED):
        return ""
    partition, _, kind = subject.removeprefix(_ROUTED).partition(".")
    return partition if kind and "." not in kind else ""


def reader_of(lineage: Sequence[str]) -> str:
    """Who reads facts, in a word: a partition and those of which it is a fork, whose facts it reads as well."""
    return _AND.join(lineage)


def is_for(subject: str, reader: str) -> bool:
    """Whether a reader folds what is stored under a subject: one of trees all that is not for another one, all others everything."""
    return (alone := addressee(subject)) == "" or alone in reader.split(_AND) or family_of(reader) != LOG


def facts_for(reader: str) -> tuple[str, ...]:
    """The subjects, as the bus matches them, of all facts that a reader of trees folds."""
    return "kuelog.facts.*.*", *(f"{_ROUTED}{_token(one)}.*" for one in reader.split(_AND))


def commit_subject(stream: str, author: str) -> str:
    """The subject of a commit: its partition and its author."""
    family, _, place = stream.partition("_")
    room = f"kuelog.{family.lower()}"
    return f"{room}.{_token(place)}.{_token(author)}" if place else f"{room}.{_token(author)}"


_ROUTED = "kuelog.facts.to."
_AND = " "


@lru_cache(maxsize=256)
def _token(text: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in text) or "_"
