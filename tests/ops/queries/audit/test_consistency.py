"""That a stream only grew between two checkpoints, proved and checked with the page that anybody may read."""

import hashlib
import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.json_object import JsonObject
from events.merkle import consistency_path, root_of
from ops.production.archive.errors import NotProvable
from ops.production.archive.proof.evidence import Evidence, Statement, load_evidence
from ops.production.archive.proof.witness import HeadWitness
from ops.production.log.memory import MemoryBus
from ops.production.log.streams import PARTITION
from ops.queries.audit.proof import prove_consistency
from tests.ops.queries.audit.logs import evidence_of, key_of, log_of
from tests.places import ROOT

CHECKER = ROOT / "docs" / "verify_proof.py"
_goes_on: Callable[[JsonObject, JsonObject, list[str]], bool] = runpy.run_path(str(CHECKER))["goes_on"]


def leaves_of(count: int, salt: bytes = b"") -> list[bytes]:
    return [hashlib.sha256(b"\0" + salt + bytes([n & 255, n >> 8])).digest() for n in range(count)]


def at(sequence: int, root: bytes) -> JsonObject:
    return {"sequence": sequence, "root": root.hex()}


def goes_on(old: JsonObject, new: JsonObject, path: list[bytes]) -> bool:
    try:
        return _goes_on(old, new, [node.hex() for node in path])
    except IndexError:
        return False  # The page says of such a proof that it is not complete.


@st.composite
def grown(draw: st.DrawFn) -> tuple[list[bytes], int]:
    """The leaves of a tree, and of how many of them it consisted before."""
    count = draw(st.integers(1, 400))
    return leaves_of(count), draw(st.integers(1, count))


@given(grown())
def test_every_tree_is_shown_to_go_on_from_every_tree_that_it_was(tree: tuple[list[bytes], int]) -> None:
    leaves, old = tree
    path = consistency_path(leaves, old)
    assert goes_on(at(old, root_of(leaves[:old])), at(len(leaves), root_of(leaves)), path)
    assert len(path) <= 2 * len(leaves).bit_length()


@given(grown(), st.data())
def test_no_other_beginning_end_size_or_path_is_shown(tree: tuple[list[bytes], int], data: st.DataObject) -> None:
    leaves, old = tree
    path, older, newer = consistency_path(leaves, old), root_of(leaves[:old]), root_of(leaves)
    index = data.draw(st.integers(0, len(leaves) - 1))
    changed = [*leaves[:index], hashlib.sha256(b"other").digest(), *leaves[index + 1 :]]
    assert not goes_on(at(old, older), at(len(leaves), root_of(changed)), path)
    if index < old:
        # Whoever rewrites what was signed can't make a path from the old root either.
        assert not goes_on(at(old, older), at(len(leaves), root_of(changed)), consistency_path(changed, old))
        assert not goes_on(at(old, root_of(changed[:old])), at(len(leaves), newer), path)
    assert not goes_on(at(len(leaves) + 1, newer), at(len(leaves), newer), path)
    assert not goes_on(at(0, root_of([])), at(len(leaves), newer), path)
    assert not goes_on(at(old, older), at(len(leaves), newer), [*path, newer])
    if path:
        cut = data.draw(st.integers(0, len(path) - 1))
        assert not goes_on(at(old, older), at(len(leaves), newer), [*path[:cut], *path[cut + 1 :]])
        assert not goes_on(at(old, older), at(len(leaves), newer), [*path[:cut], newer, *path[cut + 1 :]])


def test_the_paths_are_those_of_rfc_6962() -> None:
    # The test vectors that implementations of the RFC share: seven leaves, and the eighth.
    data = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
    leaves = [hashlib.sha256(b"\0" + bytes.fromhex(one)).digest() for one in data]
    assert consistency_path(leaves[:1], 1) == []
    assert [node.hex() for node in consistency_path(leaves, 1)] == [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ]
    assert [node.hex() for node in consistency_path(leaves, 6)] == [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ]
    assert [node.hex() for node in consistency_path(leaves[:5], 2)] == [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ]


async def handed_out(folder: Path) -> tuple[Statement, Statement, Evidence]:
    """The checkpoint at 10, that at 37 behind a change of keys, and what the folder holds at 40."""
    found: list[Statement] = []
    for upto in (10, 37, 40):
        bus = MemoryBus()
        bus.memory(PARTITION).entries = log_of(40)[PARTITION][:upto]
        await HeadWitness(folder).witness(bus.memory(PARTITION))
        evidence = load_evidence(str(folder))
        found.append(Statement(keys=evidence.keys, heads=evidence.heads))
        if upto == 10:
            HeadWitness(folder).rotate()
    return found[0], found[1], load_evidence(str(folder))


def checked(proof: JsonObject, folder: Path, *words: str) -> tuple[int, str]:
    path = folder / "proof.json"
    path.write_text(json.dumps(proof))
    done = subprocess.run(
        [sys.executable, "-I", str(CHECKER), str(path), *words], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


async def test_the_page_checks_that_a_log_goes_on_from_what_was_handed_out(tmp_path: Path) -> None:
    old, new, evidence = await handed_out(tmp_path)
    proof = prove_consistency(evidence, PARTITION, old, new)
    for words in ((old.keys[0].id,), ()):
        code, told = checked(proof, tmp_path, *words)
        assert code == 0 and "holds: LOG_0 goes on from 10 to 37, signed by " + new.keys[1].id in told, told
        assert f"10 {old.heads[PARTITION].root}\n37 {new.heads[PARTITION].root}\n" in told
    code, told = checked(proof, tmp_path, new.keys[1].id)
    assert code == 1 and f"is signed by {old.keys[0].id}, which the key you named does not vouch for" in told
    same = prove_consistency(evidence, PARTITION, new, new)
    assert checked(same, tmp_path)[0] == 0 and same["consistency"] == []


@pytest.mark.parametrize("harm", ["path", "old root", "old size", "new size", "signature", "not complete", "endless"])
async def test_a_proof_between_checkpoints_that_was_changed_does_not_hold(harm: str, tmp_path: Path) -> None:
    old, new, evidence = await handed_out(tmp_path)
    proof = prove_consistency(evidence, PARTITION, old, new)
    match harm:
        case "path":
            proof["consistency"][0] = "00" * 32
        case "old root":
            proof["old"]["root"] = "00" * 32
        case "old size" | "new size":
            proof["old" if harm == "old size" else "checkpoint"]["sequence"] += 1
        case "signature":
            proof["old"]["signature"] = "00" * 64
        case "not complete":
            proof["consistency"] = []
        case _:
            proof["old"]["sequence"] = -1
    code, told = checked(proof, tmp_path, old.keys[0].id)
    assert code == 1 and "DOES NOT HOLD" in told and "Traceback" not in told


async def test_what_is_not_so_is_not_proved(tmp_path: Path) -> None:
    old, new, evidence = await handed_out(tmp_path)
    with pytest.raises(NotProvable, match="name them the other way"):
        prove_consistency(evidence, PARTITION, new, old)
    with pytest.raises(NotProvable, match="FACTS can't be proved: the older file has no checkpoint of it"):
        prove_consistency(evidence, "FACTS", old, new)
    told = "`kuelog audit verify --checkpoint` says more"
    another = evidence_of(log_of(8, devices=1), key_of(1))
    with pytest.raises(NotProvable, match=f"LOG_0 8 can't be proved: .* don't lead to its root; {told}"):
        changed = msgspec.structs.replace(another.heads[PARTITION], root="00" * 32)
        prove_consistency(evidence, PARTITION, Statement(keys=another.keys, heads={PARTITION: changed}), new)
    rewritten = msgspec.structs.replace(evidence, leaves={PARTITION: b"\0" * 32 + evidence.leaves[PARTITION][32:]})
    with pytest.raises(NotProvable, match=f"LOG_0 10 can't be proved: .* {told}"):
        prove_consistency(rewritten, PARTITION, old, new)
