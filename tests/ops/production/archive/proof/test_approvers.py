"""Approvers of months, and the keys that vouch for them.

Rule: docs/rules/billing.md#closing
"""

from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ops.production.archive.proof.approvers import APPROVERS, Approver, add, approver_text, approvers_in, make_key
from ops.production.archive.proof.keys import KEY, RING, RingKey, endorsed_text, ring_in
from ops.production.archive.proof.witness import HeadWitness


def person(folder: Path, name: str) -> str:
    return make_key(folder / f"{name}.key")


def names(folder: Path) -> list[str]:
    return [one.name for one in approvers_in(folder)]


def test_a_key_that_was_replaced_vouches_for_no_approver_that_is_added_later(tmp_path: Path) -> None:
    folder = tmp_path / "witness"
    witness = HeadWitness(folder)
    add(folder, "ann", person(tmp_path, "ann"))
    stolen = Ed25519PrivateKey.from_private_bytes((folder / KEY).read_bytes())
    old = ring_in(folder)[-1]
    witness.rotate()
    assert names(folder) == ["ann"], "the new key vouches for who was there"
    theirs = Approver(name="thief", public=person(tmp_path, "thief"), voucher=old.id)
    theirs = msgspec.structs.replace(theirs, endorsement=stolen.sign(approver_text(theirs)).hex())
    rows = msgspec.json.decode((folder / APPROVERS).read_bytes(), type=tuple[Approver, ...])
    (folder / APPROVERS).write_bytes(msgspec.json.encode((theirs, *rows)))
    assert names(folder) == ["ann"]
    another = RingKey(id="0" * 32, public="00" * 32, replaces=old.id)
    another = msgspec.structs.replace(another, endorsement=stolen.sign(endorsed_text(another)).hex())
    (folder / RING).write_bytes(msgspec.json.encode((*ring_in(folder), another)))
    assert "thief" not in names(folder), "a second successor does not give it back its word"


def test_who_was_added_under_a_key_that_an_older_version_replaced_is_added_again(tmp_path: Path) -> None:
    folder = tmp_path / "witness"
    witness = HeadWitness(folder)
    ann = person(tmp_path, "ann")
    add(folder, "ann", ann)
    rows = (folder / APPROVERS).read_bytes()
    witness.rotate()
    (folder / APPROVERS).write_bytes(rows)
    assert names(folder) == []
    add(folder, "ann", ann)
    assert names(folder) == ["ann"]
    assert len(msgspec.json.decode((folder / APPROVERS).read_bytes())) == 1
