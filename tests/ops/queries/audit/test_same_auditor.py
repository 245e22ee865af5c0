"""Whoever audits one log after the other says of each what somebody says who sees it for the first time."""

import random
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from events.control import Quarantined
from events.subjects import CONTROL, FACTS
from ops.production.archive.proof.evidence import Evidence, Statement
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from ops.queries.audit.verify import Auditor
from tests.ops.queries.audit.logs import Log, evidence_of, key_of, log_of
from tests.ops.queries.audit.test_tampering import WAYS
from tests.services.runtime.test_control_log import said

KEY = key_of(1)
ROUNDS = 60


def strange(log: Log, signed: Mapping[str, int], chance: random.Random) -> Log:
    """A log that is as it was signed, shorter, longer than that, changed, or of which something is skipped."""
    what = chance.choice(("as it was", "as it was signed", "shorter", "changed", "skipped"))
    if what == "as it was":
        return log
    if what == "as it was signed":
        return {stream: found[: signed.get(stream, 0)] for stream, found in log.items()}
    stream = chance.choice((PARTITION, FACTS, DEVICE_PARTITION))
    at = chance.randrange(len(log[stream]))
    if what == "skipped":
        return {**log, CONTROL: [said(1, Quarantined(stream=stream, sequence=at + 1, reason="r"))]}
    changed = {**log, stream: list(log[stream])}
    if what == "shorter":
        del changed[stream][at:]
    else:
        chance.choice(WAYS)(changed[stream], at, chance)
    return changed


def doubtful(evidence: Evidence) -> Evidence:
    """Evidence beside which one leaf was changed."""
    kept = bytearray(evidence.leaves[PARTITION])
    kept[7] ^= 1
    return replace(evidence, leaves={**evidence.leaves, PARTITION: bytes(kept)})


@pytest.mark.parametrize("part", [1.0, 0.5])
@pytest.mark.parametrize("harmed", [False, True])
def test_an_auditor_who_has_seen_other_logs_says_of_one_what_a_new_one_says(part: float, *, harmed: bool) -> None:
    log = log_of(24, devices=8)
    whole = evidence_of(log, KEY, part)
    evidence = doubtful(whole) if harmed else whole
    handed = (Statement(keys=whole.keys, heads=whole.heads),)
    known = Auditor(evidence)
    chance = random.Random(f"{part} {harmed}")
    for _ in range(ROUNDS):
        seen = strange(log, {stream: head.sequence for stream, head in whole.heads.items()}, chance)
        ends = chance.choice((None, {}, {FACTS: len(seen[FACTS])}))
        told = known.examine(seen, handed, ends)
        assert told == Auditor(evidence).examine(seen, handed, ends)
        assert {one.stream: one.messages for one in told.streams} == {name: len(one) for name, one in seen.items()}
