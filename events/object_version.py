"""Which version of which object a fact is about: what tells a newer fact from an older one, in whatever order they are written."""

from functools import lru_cache

from events.event import Value

_PLACES = 4096


class ObjectVersion(Value, frozen=True, kw_only=True):
    """An object of the cluster as it was seen. Versions are resourceVersions, which grow with every write of a kind."""

    kind: str
    namespace: str = ""
    name: str
    part: str = ""
    """Names a fact about the object that is versioned apart from its content, such as that its finalizer may go."""
    uid: str = ""
    version: int = 0
    """Its resourceVersion; of what is made of several objects, such as a group of pods, the newest one of their kind.

    0 where it is not known: then the fact is folded whatever is known.
    """
    context: int = 0
    """How far the kinds were seen that its meaning depends on besides itself, such as queues and classes."""
    gone: bool = False
    """It is not there any more: its deletion had this version, or a list of this version left it out."""
    epoch: int = 0
    """How often the cluster's versions have begun anew (`ResourceVersionsRestarted`)."""

    @property
    def place(self) -> str:
        """The object, as `kind/namespace/name`."""
        return object_place(self.kind, self.namespace, self.name)


@lru_cache(maxsize=_PLACES)
def object_place(kind: str, namespace: str, name: str) -> str:
    """An object, as `kind/namespace/name`; one text for all who ask in turn, because each of them keeps it."""
    return f"{kind}/{namespace}/{name}"


def version_number(text: object) -> int:
    """A resourceVersion as a number; 0 when it is none, and so can't be compared."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0


_MOST_DIGITS = 19
