"""Who may approve that a month is closed: people's public keys, each endorsed by a key of the witness's ring.

Rule: docs/rules/billing.md#closing
"""

import hashlib
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from events.billing import Approval, MonthClosed
from ops.files.reading import rows_in
from ops.files.run_folder import used
from ops.files.whole_file import write_whole
from ops.production.archive.proof.checkpoint import signed_by
from ops.production.archive.proof.keys import Signer, ring_in, vouching_publics, write_private

APPROVERS = "approvers.json"
NEEDED = 2
"""So many people approve of a month."""


class Approver(msgspec.Struct, frozen=True, kw_only=True):
    """A person, the public key in hex, and which key of the ring vouches for both."""

    name: str
    public: str
    voucher: str = ""
    endorsement: str = ""


class ApproverRefused(Exception):
    """A key or an approval that does not count. The message says why, and what to do."""


def fingerprint(public: str) -> str:
    """128 bits of the hash of a public key, in hex."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()[:32]


def make_key(path: Path) -> str:
    """A new private key in a file of its own, for its owner alone; the public key in hex. Raises `ApproverRefused`."""
    key = Ed25519PrivateKey.generate()
    try:
        write_private(path, key)
    except OSError as problem:
        raise ApproverRefused(
            f"{path} can't be made: {problem.strerror}; name a file that is not there yet"
        ) from problem
    return _public(key)


def add(folder: Path, name: str, public: str) -> Approver:
    """Endorse a person's key with the witness's. Raises `ApproverRefused`, `WitnessKeyMissing`, `Unreadable`, `FolderUnusable`."""
    try:
        fingerprint(public)
    except ValueError as bad:
        raise ApproverRefused(f"{public!r} is no public key: `kuelog bill key FILE` prints it in hex") from bad
    counting = approvers_in(folder)
    if any(name == one.name or public == one.public for one in counting):
        raise ApproverRefused(f"{name} or this key is among the approvers already: one person, one key")
    # A row for which nobody vouches any more, of this person or with this key, makes way.
    rows = rows_in(folder / APPROVERS, Approver)
    known = [one for one in rows if one in counting or (name != one.name and public != one.public)]
    fresh = _endorsed(Approver(name=name, public=public), Signer(folder, signed=True))
    with used(folder):
        _write(folder, (*known, fresh))
    return fresh


def endorse_anew(folder: Path, signer: Signer, counting: tuple[Approver, ...]) -> None:
    """Have the key in use vouch for those that counted before it was. Raises `Unreadable`, `OSError`."""
    rows = rows_in(folder / APPROVERS, Approver)
    if rows:
        _write(folder, tuple(_endorsed(one, signer) if one in counting else one for one in rows))


def _endorsed(one: Approver, signer: Signer) -> Approver:
    named = msgspec.structs.replace(one, voucher=signer.id)
    return msgspec.structs.replace(named, endorsement=signer.vouch(approver_text(named)))


def _write(folder: Path, rows: tuple[Approver, ...]) -> None:
    write_whole(folder / APPROVERS, msgspec.json.encode(rows, order="deterministic"))


def approvers_in(folder: Path) -> tuple[Approver, ...]:
    """Those for whom a trusted key of the ring vouches that is in use. Raises `Unreadable`."""
    publics = vouching_publics(ring_in(folder))
    return tuple(
        one
        for one in rows_in(folder / APPROVERS, Approver)
        if one.voucher in publics and signed_by(publics[one.voucher], approver_text(one), one.endorsement)
    )


def approved(event: MonthClosed, name: str, key: Path) -> MonthClosed:
    """The statement with one more signature. Raises `ApproverRefused`."""
    try:
        private = Ed25519PrivateKey.from_private_bytes(key.read_bytes())
    except (OSError, ValueError) as problem:
        raise ApproverRefused(f"{key} is no private key: `kuelog bill key FILE` makes one") from problem
    signature = private.sign(closing_text(event)).hex()
    one = Approval(name=name, key=fingerprint(_public(private)), signature=signature)
    return msgspec.structs.replace(event, approvals=(*(old for old in event.approvals if old.name != name), one))


def closing_text(event: MonthClosed) -> bytes:
    """The text that approvers sign: all of the statement but the approvals."""
    return b"kuelog closing\n" + msgspec.json.encode(
        msgspec.structs.replace(event, approvals=()), order="deterministic"
    )


def check_approvals(event: MonthClosed, approvers: tuple[Approver, ...]) -> None:
    """Whether two people of the ring have signed just this. Raises `ApproverRefused`."""
    text, good = closing_text(event), set[str]()
    for approval in event.approvals:
        known = next((one for one in approvers if one.name == approval.name), None)
        if known is None:
            raise ApproverRefused(f"{approval.name} is no approver: `kuelog bill approver NAME PUBLIC` makes one")
        if approval.key != fingerprint(known.public) or not signed_by(known.public, text, approval.signature):
            raise ApproverRefused(f"the signature of {approval.name} is not under this statement: have it signed again")
        good.add(known.public)
    if len(good) < NEEDED:
        raise ApproverRefused(
            f"{len(good)} of {NEEDED} people have approved of it: `kuelog bill approve FILE --name NAME --key KEY` signs it"
        )


def approver_text(one: Approver) -> bytes:
    """The text by which a key vouches for a person."""
    return f"kuelog approver\n{one.name}\n{one.public}\n{one.voucher}\n".encode()


def _public(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
