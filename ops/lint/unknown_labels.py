"""Labels under Kueue's prefix and ours that nobody reads and that look like one that people write: slips of the pen."""

from difflib import get_close_matches

from events.api.labels import KNOWN, LabelWriter
from events.json_object import JsonObject, object_at
from services.validation.problem import Problem, warning

_PREFIXES = ("kueue.x-k8s.io", "kuelog.io")
_NAMES = frozenset(one.key for one in KNOWN)
_WRITTEN = tuple(one.key for one in KNOWN if one.writer is not LabelWriter.KUELOG)


def unknown_label_problems(value: JsonObject) -> list[Problem]:
    """A warning for each label that is meant otherwise, probably: a job with such a one for its queue is not queued at all."""
    return [
        warning(f"metadata.labels.{name}", "UnknownLabel", f"nobody reads {name}", "it has no effect", near)
        for name in object_at(value, "metadata", "labels")
        if name not in _NAMES and (near := _near(name))
    ]


def _near(name: str) -> str:
    prefix, _, word = name.partition("/")
    if prefix not in _PREFIXES:
        return ""
    words = [known.partition("/")[2] for known in _WRITTEN if known.startswith(f"{prefix}/")]
    return next((f"{prefix}/{one}" for one in get_close_matches(word, words, n=1)), "")
