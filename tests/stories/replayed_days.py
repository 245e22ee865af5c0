"""Days that were written as logs, replayed: what comes of it, as a process of any Python tells it.

python -m tests.stories.replayed_days DAYS.json
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ops.production.wiring import DEVICE_LANE, LANE
from ops.queries.replay import fold_lane
from services.runtime.log_port import Entry

Log = dict[str, list[Entry]]


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one lane of one day."""

    day: int
    lane: str
    commits: int
    verified: int
    otherwise: list[str]
    """The decisions whose bytes are not those that were recorded."""
    state_hash: str


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What one process found, and which Python that was."""

    version: str
    lanes: list[Lane]


def replayed(days: Sequence[Log]) -> Told:
    """Every decision of every day decided again."""
    lanes: list[Lane] = []
    for day, entries in enumerate(days):
        for lane in (LANE, DEVICE_LANE):
            _, found = fold_lane(lane, entries, verify=True)
            lanes.append(
                Lane(
                    day=day,
                    lane=lane,
                    commits=found.commits,
                    verified=found.verified,
                    otherwise=[f"{one.sequence} by {one.author}" for one in found.differences],
                    state_hash=found.state_hash,
                )
            )
    return Told(version=".".join(str(part) for part in sys.version_info[:2]), lanes=lanes)


if __name__ == "__main__":
    found = replayed(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=list[Log]))
    print(msgspec.json.encode(found).decode())  # noqa: T201 - bytes for the test
