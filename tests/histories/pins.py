"""What the stored histories come to under today's code: the states they fold to, and the decisions they lead to."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.replay import fold_partition
from services.runtime.log_port import Entry
from tests.histories.stored import HERE, versions

PINS = HERE / "pins.json"
PARTITIONS = (PARTITION, DEVICE_PARTITION)


def read_pins() -> dict[str, dict[str, str]]:
    return json.loads(PINS.read_bytes()) if PINS.exists() else {"states": {}, "decisions": {}}


def states(entries: Mapping[str, Sequence[Entry]]) -> dict[str, str]:
    """The state hash of each partition at the end of a history."""
    return {partition: fold_partition(partition, entries)[1].state_hash for partition in PARTITIONS}


def decisions(histories: Mapping[str, Mapping[str, Sequence[Entry]]]) -> str:
    """A digest of what is decided, by today's code, at the place of every commit of every history."""
    digest = hashlib.sha256()
    for version in sorted(histories):
        for partition in PARTITIONS:
            entries = histories[version]
            differing = {
                one.sequence: one.decided for one in fold_partition(partition, entries, verify=True)[1].differences
            }
            for entry in entries[partition]:
                # What comes out as it was recorded is what was recorded.
                said = differing.get(entry.sequence)
                digest.update(hashlib.sha256(entry.data if said is None else said).digest())
    return digest.hexdigest()


__all__ = ["PARTITIONS", "PINS", "decisions", "read_pins", "states", "versions"]
