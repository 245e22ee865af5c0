"""The commit made of an author's decisions, with the base and the inputs that they rest on."""

import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from events.catalogue import Decision
from events.codec import encode
from events.commit import Commit
from projections.log_position import LogPosition
from services.runtime.partition.fold import PartitionFold


def commit_of(
    fold: PartitionFold,
    author: str,
    events: Sequence[Decision],
    place: LogPosition,
    *,
    rules: str,
    replica: str,
    mark: str,
) -> Commit:
    """The commit to append behind all that is folded; its id is different for each replica that decides the same."""
    body = Commit(
        id="",
        prev_hash=fold.prev_hash,
        partition=fold.partition,
        base=fold.base,
        inputs=fold.runs,
        author=author,
        epoch=fold.world.epochs.get(author, 0),
        rules=rules,
        at=place.at,
        events=tuple(events),
        state_hash=mark,
        most_admissions=place.most_admissions,
    )
    digest = hashlib.sha256(encode(body))
    # Two replicas may decide the same on the same base: only one of the two may take its append for done.
    digest.update(replica.encode())
    return replace(body, id=digest.hexdigest()[:32])
