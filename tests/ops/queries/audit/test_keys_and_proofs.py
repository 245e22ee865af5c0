"""Keys that are replaced or lost, what the witness keeps, and proofs that hold without anything of kuelog."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from events.merkle import inclusion_path, leaf_hash, node_hash, root_of
from ops.production.archive.errors import FolderUnreadable, NotProvable
from ops.production.archive.proof.evidence import Evidence, load_evidence
from ops.production.archive.proof.keys import KeyTrust, RingKey, begin_anew, endorsed_text
from ops.production.archive.proof.witness import HeadWitness, WitnessKeyMissing, leaves_name
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import PARTITION
from ops.queries.audit.proof import prove
from ops.queries.audit.verify import Auditor
from services.runtime.log_errors import LogRegressed
from tests.ops.queries.audit.logs import Log, evidence_of, key_of, log_of, ring_key
from tests.places import ROOT

CHECKER = ROOT / "docs" / "verify_proof.py"


def _root_by_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that a path leads to from a leaf at that place; None when a path of that length can't belong there."""
    node, at, last, used = leaf, index, size - 1, 0
    while last:
        if at & 1 or at < last:
            if used == len(path):
                return None
            node = node_hash(path[used], node) if at & 1 else node_hash(node, path[used])
            used += 1
        at, last = at >> 1, last >> 1
    return node if used == len(path) and at == 0 else None


def test_every_leaf_of_every_small_tree_has_a_path_to_the_root_and_no_other() -> None:
    leaves = [leaf_hash("S", "t", str(n), b"") for n in range(33)]
    for size in range(1, len(leaves) + 1):
        root = root_of(leaves[:size])
        for index in range(size):
            path = inclusion_path(leaves[:size], index)
            assert _root_by_path(leaves[index], index, size, path) == root
            assert _root_by_path(leaves[index], index, size, [*path, root]) is None
            assert _root_by_path(leaves[index], (index + 1) % size, size, path) != root or size == 1
            assert not path or _root_by_path(leaves[index], index, size, path[:-1]) is None


def test_the_tree_is_that_of_rfc_6962() -> None:
    # Of no leaf, and of the first leaves of the test vectors that implementations of the RFC share.
    assert root_of([]).hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    import hashlib

    leaves = [hashlib.sha256(b"\0" + bytes.fromhex(data)).digest() for data in ("", "00", "10", "2021", "3031")]
    assert root_of(leaves[:1]).hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert root_of(leaves[:2]).hex() == "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
    assert root_of(leaves[:3]).hex() == "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"
    assert root_of(leaves[:4]).hex() == "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
    assert root_of(leaves[:5]).hex() == "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"


def bus_of(log: Log, upto: int) -> MemoryBus:
    bus = MemoryBus()
    bus.memory(PARTITION).entries = log[PARTITION][:upto]
    return bus


async def test_the_witness_keeps_a_checkpoint_and_every_leaf_and_grows_them(tmp_path: Path) -> None:
    log = log_of(50)
    for upto in (7, 7, 20, 50):
        witness = HeadWitness(tmp_path)
        await witness.check(bus_of(log, upto).memory(PARTITION))
        await witness.witness(bus_of(log, upto).memory(PARTITION))
    evidence = load_evidence(str(tmp_path))
    assert evidence.heads[PARTITION].root == evidence_of(log, key_of(1)).heads[PARTITION].root
    assert evidence.leaves[PARTITION] == evidence_of(log, key_of(1)).leaves[PARTITION]
    assert Auditor(evidence).examine(log).findings == ()


async def test_leaves_that_are_lost_are_made_anew_from_a_log_that_is_still_the_same(tmp_path: Path) -> None:
    log = log_of(20)
    await HeadWitness(tmp_path).witness(bus_of(log, 10).memory(PARTITION))
    (tmp_path / leaves_name(PARTITION)).unlink()
    await HeadWitness(tmp_path).witness(bus_of(log, 20).memory(PARTITION))
    assert Auditor(load_evidence(str(tmp_path))).examine(log).findings == ()
    (tmp_path / leaves_name(PARTITION)).unlink()
    changed = bus_of(log, 20)
    changed.memory(PARTITION).entries[3] = msgspec.structs.replace(log[PARTITION][3], data=b"{}")
    with pytest.raises(LogRegressed, match="holds other messages than it once did"):
        await HeadWitness(tmp_path).witness(changed.memory(PARTITION))


async def test_a_replaced_key_counts_for_what_it_had_signed_and_for_nothing_behind(tmp_path: Path) -> None:
    log = log_of(30)
    running = HeadWitness(tmp_path)
    await running.witness(bus_of(log, 10).memory(PARTITION))
    old = load_evidence(str(tmp_path))
    old_key = (tmp_path / "witness.key").read_bytes()
    fresh = HeadWitness(tmp_path).rotate()
    assert (tmp_path / "witness.key").read_bytes() != old_key
    await running.witness(bus_of(log, 20).memory(PARTITION))
    now = load_evidence(str(tmp_path))
    assert now.heads[PARTITION].key == fresh, "a witness that runs takes the new key"
    assert Auditor(now, [old.keys[0].id]).examine({PARTITION: log[PARTITION]}).findings == ()
    assert KeyTrust(now.keys).why_not(PARTITION, old.heads[PARTITION]) == ""
    thief = evidence_of({PARTITION: log[PARTITION]}, Ed25519PrivateKey.from_private_bytes(old_key))
    assert "was replaced when LOG_0 stood at 10" in KeyTrust(now.keys).why_not(PARTITION, thief.heads[PARTITION])


async def test_a_lost_key_is_a_clear_message_and_a_new_one_has_to_be_named_to_count(tmp_path: Path) -> None:
    log = log_of(30)
    await HeadWitness(tmp_path).witness(bus_of(log, 10).memory(PARTITION))
    (tmp_path / "witness.key").unlink()
    with pytest.raises(WitnessKeyMissing, match="rotate-key --witness .* --lost REASON"):
        HeadWitness(tmp_path)
    fresh = begin_anew(tmp_path, {PARTITION: 10}, lost="the disk burnt")
    await HeadWitness(tmp_path).witness(bus_of(log, 20).memory(PARTITION))
    evidence = load_evidence(str(tmp_path))
    findings = Auditor(evidence).examine(log).findings
    assert [one.what for one in findings] == ["checkpoint"]
    assert "the disk burnt" in findings[0].detail and f"--trust {fresh}" in findings[0].detail
    assert Auditor(evidence, [fresh]).examine({PARTITION: log[PARTITION]}).findings == ()


def test_a_folder_without_evidence_or_with_broken_files_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(FolderUnreadable, match="it is no witness folder"):
        load_evidence(str(tmp_path / "nowhere"))
    (tmp_path / "heads.json").write_text("{")
    with pytest.raises(FolderUnreadable, match="can't be read"):
        load_evidence(str(tmp_path))
    with pytest.raises(FolderUnreadable, match="no storage of that kind"):
        load_evidence("gopher://x/y")


def checked(proof: object, tmp_path: Path, *words: str) -> tuple[int, str]:
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(proof))
    return ran(str(path), *words)


def ran(*words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-I", str(CHECKER), *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
async def rotated(tmp_path: Path) -> tuple[Log, Evidence]:
    log = log_of(37)
    await HeadWitness(tmp_path).witness(bus_of(log, 10).memory(PARTITION))
    HeadWitness(tmp_path).rotate()
    await HeadWitness(tmp_path).witness(bus_of(log, 37).memory(PARTITION))
    return log, load_evidence(str(tmp_path))


def test_a_page_of_public_code_checks_a_proof(rotated: tuple[Log, Evidence], tmp_path: Path) -> None:
    log, evidence = rotated
    for sequence in (1, 16, 37):
        proof = prove(log[PARTITION], evidence, PARTITION, sequence)
        for words in ((evidence.keys[0].id,), (evidence.keys[1].id,), ()):
            code, told = checked(proof, tmp_path, *words)
            assert code == 0 and f"holds: LOG_0 {sequence} of 37" in told, told
            assert log[PARTITION][sequence - 1].data.decode() in told
    assert len(CHECKER.read_text().splitlines()) <= 140, "so short that it is read before it is run"


@pytest.mark.parametrize("harm", ["data", "sequence", "subject", "path", "root", "signature", "key", "size", "missing"])
def test_a_proof_that_was_changed_does_not_hold(harm: str, rotated: tuple[Log, Evidence], tmp_path: Path) -> None:
    log, evidence = rotated
    proof = json.loads(json.dumps(prove(log[PARTITION], evidence, PARTITION, 16)))
    match harm:
        case "data":
            proof["data"] = proof["data"][:-8] + "AAAA" + proof["data"][-4:]
        case "sequence" | "subject":
            proof[harm] = 17 if harm == "sequence" else proof[harm] + "x"
        case "path":
            proof["path"].pop()
        case "root" | "signature":
            proof["checkpoint"][harm] = "00" + proof["checkpoint"][harm][2:]
        case "size":
            proof["checkpoint"]["sequence"] = 36
        case "key":
            proof["keys"][1]["endorsement"] = "00" * 64
        case _:
            del proof["checkpoint"]["root"]
    code, told = checked(proof, tmp_path, evidence.keys[0].id)
    assert code == 1 and "DOES NOT HOLD" in told and "Traceback" not in told
    assert checked(prove(log[PARTITION], evidence, PARTITION, 16), tmp_path, "0123456789abcdef")[0] == 1


def test_what_is_not_signed_is_not_proved(rotated: tuple[Log, Evidence]) -> None:
    log, evidence = rotated
    with pytest.raises(NotProvable, match="covers sequences 1 to 37"):
        prove(log[PARTITION], evidence, PARTITION, 38)
    with pytest.raises(NotProvable, match="has no checkpoint"):
        prove(log[PARTITION], evidence, "FACTS", 1)
    changed = [*log[PARTITION][:4], msgspec.structs.replace(log[PARTITION][4], data=b"{}"), *log[PARTITION][5:]]
    with pytest.raises(NotProvable, match="not the message that was signed"):
        prove(changed, evidence, PARTITION, 5)


def test_a_key_that_was_recorded_under_a_short_fingerprint_counts_and_can_be_named_by_a_long_one(
    tmp_path: Path,
) -> None:
    log, key = log_of(20), key_of(1)
    whole = evidence_of(log, key)
    assert [len(one.id) for one in whole.keys] == [32]
    short = msgspec.structs.replace(whole.keys[0], id=whole.keys[0].id[:16])
    heads = {stream: msgspec.structs.replace(head, key=short.id) for stream, head in whole.heads.items()}
    old = msgspec.structs.replace(whole, keys=(short,), heads=heads)
    proof = prove(log[PARTITION], old, PARTITION, 7)
    for pins in ((), (short.id,), (whole.keys[0].id,)):
        assert Auditor(old, pins).examine(log).findings == ()
        assert checked(proof, tmp_path, *pins)[0] == 0
    assert Auditor(whole, (short.id,)).examine(log).findings, "a short one names only what is recorded under it"
    assert checked(prove(log[PARTITION], whole, PARTITION, 7), tmp_path, short.id)[0] == 1


def test_two_keys_of_one_fingerprint_are_not_trusted(tmp_path: Path) -> None:
    log, whole = log_of(20), evidence_of(log_of(20), key_of(1))
    twice = msgspec.structs.replace(whole, keys=(*whole.keys, *whole.keys))
    assert "is the name of two keys" in Auditor(twice).examine(log).findings[0].detail
    proof = {**prove(log[PARTITION], whole, PARTITION, 7), "keys": msgspec.to_builtins(twice.keys)}
    assert checked(proof, tmp_path)[0] == 1


def heir_of(old: Ed25519PrivateKey, key: Ed25519PrivateKey, upto: int) -> RingKey:
    """A key that another endorses as the one that replaces it."""
    heir = msgspec.structs.replace(ring_key(key), replaces=ring_key(old).id, upto={PARTITION: upto})
    return msgspec.structs.replace(heir, endorsement=old.sign(endorsed_text(heir)).hex())


@pytest.mark.parametrize("how", ["endorses another key", "voids the one that replaced it", "goes by its short name"])
def test_a_stolen_key_that_had_been_replaced_signs_nothing_by_what_is_added_to_the_ring(
    how: str, tmp_path: Path
) -> None:
    stolen, right, own = key_of(1), key_of(2), key_of(3)
    ring, forged = (ring_key(stolen), heir_of(stolen, right, 10)), log_of(30, world=b"forged")
    evidence, alias = evidence_of(forged, stolen), ring[0]
    match how:
        case "endorses another key":
            evidence, alias = evidence_of(forged, own), heir_of(stolen, own, 30)
        case "voids the one that replaced it":
            alias = msgspec.structs.replace(heir_of(stolen, own, 30), endorsement="00" * 64)
        case _:
            alias = msgspec.structs.replace(ring[0], id=ring[0].id[:16])
            heads = {name: msgspec.structs.replace(head, key=alias.id) for name, head in evidence.heads.items()}
            evidence = msgspec.structs.replace(evidence, heads=heads)
    for keys in ((*ring, alias), (ring[0], alias, ring[1])):
        harmed = msgspec.structs.replace(evidence, keys=keys)
        for pins in ((), (ring[0].id,), (ring[0].id, ring[1].id)):
            found = {(one.stream, one.what) for one in Auditor(harmed, pins).examine(forged).findings}
            assert (PARTITION, "checkpoint") in found, pins
        proof = prove(forged[PARTITION], harmed, PARTITION, 7)
        assert checked(proof, tmp_path, ring[0].id)[0] == 1
    whole = msgspec.structs.replace(evidence_of(forged, right), keys=(*ring, alias))
    if how != "goes by its short name":
        assert Auditor(whole, (ring[1].id,)).examine(forged).findings == (), "the right one can be named"


def test_whatever_is_no_proof_is_one_message_and_what_can_not_be_shown_is_escaped(tmp_path: Path) -> None:
    log = log_of(20)
    evidence = evidence_of(log, key_of(1))
    proof = json.loads(json.dumps(prove(log[PARTITION], evidence, PARTITION, 7)))
    no_key = {**proof["keys"][0], "upto": 5}
    for field, value in (("stream", 5), ("subject", None), ("message_id", {}), ("keys", [no_key]), ("keys", [])):
        code, told = checked({**proof, field: value}, tmp_path)
        assert code == 1 and told.startswith("DOES NOT HOLD: it is not a complete proof"), told
    path = tmp_path / "proof.json"
    for data in (b"", b"{", b"\xff", b"[" * 100_000):
        path.write_bytes(data)
        code, told = ran(str(path))
        assert code == 1 and "DOES NOT HOLD" in told and "Traceback" not in told
    for words in ((), (str(tmp_path / "nowhere"),)):
        code, told = ran(*words)
        assert code == 2 and "name the file of a proof" in told and "Traceback" not in told
    log[PARTITION][6] = msgspec.structs.replace(log[PARTITION][6], data=b"\xff\x1b[2Jholds: all of it")
    proof = prove(log[PARTITION], evidence_of(log, key_of(1)), PARTITION, 7)
    code, told = checked(proof, tmp_path)
    assert code == 0 and "\x1b" not in told and "holds: LOG_0 7 of 20" in told, told


def test_a_stream_whose_checkpoint_was_taken_away_is_found_by_whoever_names_a_key() -> None:
    log, forged = log_of(20), log_of(20, world=b"forged")
    evidence = evidence_of(log, key_of(1))
    for gone in ({PARTITION}, set(evidence.heads)):
        harmed = msgspec.structs.replace(
            evidence, heads={name: head for name, head in evidence.heads.items() if name not in gone}
        )
        found = Auditor(harmed, (evidence.keys[0].id,)).examine(forged).findings
        assert {(one.stream, one.what) for one in found} == {(name, "checkpoint") for name in gone}
        assert "nobody whom you trust has signed any" in found[0].detail
    assert Auditor(evidence, (evidence.keys[0].id,)).examine(log).findings == (), (
        "of CONTROL nothing is there to be signed"
    )
