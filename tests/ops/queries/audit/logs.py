"""Logs of many commits, made quickly: the bytes are real commits and sightings, what they decide is beside the point."""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from events.catalogue import Decision
from events.codec import encode
from events.commit import Commit, InputRun, Sighting
from events.device import DevicesReleased
from events.hash_chain import GENESIS, bytes_hash
from events.merkle import Frontier, leaf_hash
from events.subjects import CONTROL, FACTS, commit_subject, fact_subject
from events.workload import PodsGone, WorkloadQueued
from ops.production.archive.proof.checkpoint import Checkpoint, checkpoint_of, signed_text
from ops.production.archive.proof.evidence import Evidence
from ops.production.archive.proof.keys import RingKey, fingerprint
from ops.production.log.jetstream.bus import JetStreamBus
from ops.production.log.streams import DEVICE_PARTITION, PARTITION
from services.runtime.log_port import Entry

Log = dict[str, list[Entry]]


WORLD = b"world"
"""What is saved of each partition of a log that names it in every commit."""


def view_of(fact: Entry) -> bytes:
    """What of a saved view says which fact it rests on."""
    return msgspec.json.encode({"position": fact.sequence, "sha256": hashlib.sha256(fact.data).hexdigest()})


def log_of(commits: int, *, devices: int = 0, world: bytes = b"") -> Log:
    """A partition, a partition of devices, and a fact for each commit that it rests on."""
    facts: list[Entry] = []
    log: Log = {CONTROL: [], FACTS: facts, PARTITION: [], DEVICE_PARTITION: []}
    for partition, count in ((PARTITION, commits), (DEVICE_PARTITION, devices)):
        prev = GENESIS
        for n in range(count):
            at = 1000 + n
            facts.append(fact(len(facts) + 1, at))
            commit = Commit(
                id=f"{partition}-{n}",
                prev_hash=prev,
                partition=partition,
                base=n,
                inputs=(InputRun(stream=FACTS, upto=len(facts)),),
                author="queue-manager" if partition == PARTITION else "accountant",
                epoch=0,
                rules="1",
                at=at,
                events=(event_of(partition, n),),
                state_hash=hashlib.sha256(world).hexdigest() if world else "",
            )
            data = encode(commit)
            subject = commit_subject(partition, commit.author)
            log[partition].append(
                Entry(stream=partition, sequence=n + 1, subject=subject, message_id=commit.id, data=data)
            )
            prev = bytes_hash(data)
    return log


def event_of(partition: str, number: int) -> Decision:
    """What the author of a partition says in its commit of that number."""
    if partition == DEVICE_PARTITION:
        return DevicesReleased(workload=f"team/w{number}", reservation=number, proof="pods gone")
    return WorkloadQueued(workload=f"team/w{number}", cluster_queue="q")


def fact(sequence: int, at: int) -> Entry:
    """One fact that is like no other."""
    sighting = Sighting(id=f"{sequence}:f", at=at, author="watcher", fact=PodsGone(workload=f"team/w{sequence}"))
    return Entry(
        stream=FACTS,
        sequence=sequence,
        subject=fact_subject("", "PodsGone"),
        message_id=sighting.id,
        data=encode(sighting),
    )


async def begin_streams(bus: JetStreamBus, firsts: Mapping[str, int]) -> None:
    """Empty streams whose first sequence lies behind an archive, as an operator begins them anew."""
    for name, first in firsts.items():
        settings = bus.settings_of(name)
        settings.first_seq = first
        await bus.client.jetstream().add_stream(settings)


def key_of(number: int) -> Ed25519PrivateKey:
    """The same key for the same number."""
    return Ed25519PrivateKey.from_private_bytes(number.to_bytes(32, "big"))


def ring_key(key: Ed25519PrivateKey) -> RingKey:
    """The first key of a ring."""
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
    return RingKey(id=fingerprint(public), public=public)


def signed(stream: str, checkpoint: Checkpoint, key: Ed25519PrivateKey) -> Checkpoint:
    """A checkpoint under a key."""
    return Checkpoint(
        sequence=checkpoint.sequence,
        sha256=checkpoint.sha256,
        root=checkpoint.root,
        peaks=checkpoint.peaks,
        key=ring_key(key).id,
        signature=key.sign(signed_text(stream, checkpoint)).hex(),
    )


def evidence_of(log: Mapping[str, Sequence[Entry]], key: Ed25519PrivateKey, upto: float = 1.0) -> Evidence:
    """What a witness would have kept of the first part of a log."""
    heads: dict[str, Checkpoint] = {}
    kept: dict[str, bytes] = {}
    for stream, entries in log.items():
        inside = entries[: int(len(entries) * upto)]
        if inside:
            leaves = [leaf_hash(e.stream, e.subject, e.message_id, e.data) for e in inside]
            heads[stream] = signed(stream, checkpoint_of(Frontier(leaves), inside[-1].data), key)
            kept[stream] = b"".join(leaves)
    return Evidence(keys=(ring_key(key),), heads=heads, leaves=kept)
