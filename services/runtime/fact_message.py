"""A fact on its way to the log: its message, under the subject of its kind and the id that any repetition has, too."""

from events.codec import encode
from events.commit import Sighting
from events.subjects import fact_subject, routed_subject
from services.runtime.log_port import Message


def fact_message(sighting: Sighting, tree: str = "", *, to: str = "") -> Message:
    """The message that carries a sighting; `tree` is the quota tree that its fact belongs to, as far as it is known.

    `to` is the partition that alone has to read it, empty where all have to.
    """
    kind = type(sighting.fact).__name__
    subject = routed_subject(to, kind) if to else fact_subject(tree, kind)
    return Message(subject, encode(sighting), sighting.id)
