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
from ops.production.archive.proof.keys import Signer, ring_in, trusted_publics, write_private

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
    known = rows_in(folder / APPROVERS, Approver)
    if any(name == one.name or public == one.public for one in known):
        raise ApproverRefused(f"{name} or this key is among the approvers already: one person, one key")
    signer = Signer(folder, signed=True)
    fresh = Approver(name=name, public=public, voucher=signer.id)
    fresh = msgspec.structs.replace(fresh, endorsement=signer.vouch(_text(fresh)))
    with used(folder):
        write_whole(folder / APPROVERS, msgspec.json.encode((*known, fresh), order="deterministic"))
    return fresh


def approvers_in(folder: Path) -> tuple[Approver, ...]:
    """Those for whom a trusted key of the ring vouches. Raises `Unreadable`."""
    publics = trusted_publics(ring_in(folder))
    return tuple(
        one
        for one in rows_in(folder / APPROVERS, Approver)
        if one.voucher in publics and signed_by(publics[one.voucher], _text(one), one.endorsement)
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


def _text(one: Approver) -> bytes:
    return f"kuelog approver\n{one.name}\n{one.public}\n{one.voucher}\n".encode()


def _public(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
