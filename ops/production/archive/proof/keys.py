"""Keys that sign checkpoints: one private key in use, and the ring of all public ones, each endorsed by the one before.

An auditor needs to know one fingerprint, the first key's or any later one's, from somewhere that is not this machine.
Where a key was replaced, the ring says how far it had signed each stream: it counts for nothing behind that.
"""

import errno
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from ops.files.reading import rows_in
from ops.files.whole_file import write_whole
from ops.production.archive.proof.checkpoint import Checkpoint, signed_by, signed_text

KEY, RING = "witness.key", "keys.json"
_LENGTH, _SHORT = 32, 16
"""Characters of a fingerprint, and of those of the first keys."""


class RingKey(msgspec.Struct, frozen=True, kw_only=True):
    """A public key, and who vouches for it."""

    id: str
    """The fingerprint, as it was recorded: of the first keys it was half as long."""
    public: str
    replaces: str = ""
    upto: dict[str, int] = {}
    """How far the key that it replaces had signed each stream."""
    lost: str = ""
    """Why the key before could not endorse this one."""
    endorsement: str = ""
    """The signature of the key that it replaces."""


class WitnessKeyMissing(Exception):
    """Checkpoints were signed with a key that is not here any more."""

    def __init__(self, folder: Path, key: str) -> None:
        super().__init__(
            f"the private key {key or 'of the witness'} is not in {folder}: restore the key as {folder / KEY}, or begin "
            f"with a new one, on record, with `kuelog audit rotate-key --witness {folder} --lost REASON`"
        )
        self.folder, self.key = folder, key


def fingerprint(public: str) -> str:
    """The id of a public key in hex: 128 bits of its SHA-256."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()[:_LENGTH]


def names(pin: str, key: RingKey) -> bool:
    """Whether whoever names this fingerprint means that key: as it is recorded, or in full. Raises `ValueError`."""
    return pin in {key.id, fingerprint(key.public)}


def endorsed_text(key: RingKey) -> bytes:
    """The text by which the key before vouches for a key."""
    lines = [f"{stream} {size}" for stream, size in sorted(key.upto.items())]
    return "\n".join(["kuelog key", key.public, key.replaces, *lines, ""]).encode()


def ring_in(folder: Path) -> tuple[RingKey, ...]:
    """The keys of a folder; none when none was ever made. Raises `Unreadable`."""
    return rows_in(folder / RING, RingKey)


def vouching_publics(ring: Sequence[RingKey]) -> dict[str, str]:
    """The public keys of a ring that vouch for others today, by fingerprint: those that count and have endorsed no successor.

    Who has a key that was replaced could endorse whatever they like, and say for none of it when that was.
    """
    problems = KeyTrust(ring).problems
    counting = {key.id: key.public for key in ring if key.id not in problems}
    return {name: public for name, public in counting.items() if not any(_follows(one, name, public) for one in ring)}


def _follows(key: RingKey, name: str, public: str) -> bool:
    return key.replaces == name and signed_by(public, endorsed_text(key), key.endorsement)


class KeyTrust:
    """Which keys count, and how far."""

    def __init__(self, ring: Sequence[RingKey], pinned: Iterable[str] = ()) -> None:
        self.problems: dict[str, str] = {}
        """By key: why it is not trusted."""
        self._accepted: dict[str, RingKey] = {}
        self._ends: dict[str, list[Mapping[str, int]]] = {}
        roots = set(pinned) or {key.id for key in ring[:1]}
        found: set[str] = set()
        ids = Counter(key.id[:_SHORT] for key in ring)
        for key in filter(lambda one: one.replaces, ring):
            self._ends.setdefault(key.replaces, []).append(key.upto)
        for key in ring:
            why = self._why_not(key, roots, found)
            if ids[key.id[:_SHORT]] > 1:
                why = "is the name of two keys, so that neither can be told from the other"
            if why:
                self.problems[key.id] = why
            else:
                self._accepted[key.id] = key
        for missing in sorted(roots - found - {key.id for key in ring}):
            self.problems[missing] = "is to be trusted, but is not among the keys of this log"

    def why_not(self, stream: str, checkpoint: Checkpoint) -> str:
        """Why a checkpoint does not count; empty when it does."""
        key = self._accepted.get(checkpoint.key)
        if key is None:
            return self.problems.get(checkpoint.key, "is not among the keys of this log")
        if not signed_by(key.public, signed_text(stream, checkpoint), checkpoint.signature):
            return "has not signed this"
        end = min((upto.get(stream, 0) for upto in self._ends.get(key.id, ())), default=None)
        if end is not None and checkpoint.sequence > end:
            return f"was replaced when {stream} stood at {end}, and counts for nothing behind that"
        return ""

    def _why_not(self, key: RingKey, roots: set[str], found: set[str]) -> str:
        try:
            if key.id not in {fingerprint(key.public), fingerprint(key.public)[:_SHORT]}:
                return "does not have the fingerprint that its name says"
            named = {pin for pin in roots if names(pin, key)}
        except ValueError:
            return "is no public key"
        found |= named
        if named:
            return ""
        if len(self._ends.get(key.replaces, ())) > 1:
            # A key that was replaced may be in other hands by now, and endorse whatever they like.
            return f"is one of two that replace key {key.replaces}; name the right one with --trust"
        before = self._accepted.get(key.replaces)
        if before is not None and signed_by(before.public, endorsed_text(key), key.endorsement):
            return ""
        lost = f" (the key before it was lost: {key.lost})" if key.lost else ""
        return f"is endorsed by no key that is trusted{lost}; if you know it to be right, name it with --trust {key.id}"


class Signer:
    """The private key in use, and the ring, in a folder of their own."""

    def __init__(self, folder: Path, *, signed: bool) -> None:
        """`signed`: whether there are checkpoints already, so that a missing key is a lost one."""
        self._folder = folder
        self.ring = self._load_ring()
        path = folder / KEY
        known = self.ring[-1].id if self.ring else ""
        if (half_way := folder / f"{KEY}.{known}").exists():
            half_way.replace(path)
        if not path.exists():
            if signed or self.ring:
                raise WitnessKeyMissing(folder, known)
            self._key = _fresh(path)
        else:
            try:
                self._key = Ed25519PrivateKey.from_private_bytes(path.read_bytes())
            except ValueError as problem:
                raise WitnessKeyMissing(folder, known) from problem
        if not self.ring:
            self._write_ring((RingKey(id=fingerprint(self.public), public=self.public),))
        elif self.ring[-1].public != self.public:
            raise WitnessKeyMissing(folder, known)

    @property
    def public(self) -> str:
        """The public key in hex."""
        return self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    @property
    def id(self) -> str:
        """The fingerprint of the key in use."""
        return self.ring[-1].id

    def sign(self, stream: str, checkpoint: Checkpoint) -> Checkpoint:
        """The checkpoint under the key in use."""
        signature = self._key.sign(signed_text(stream, checkpoint)).hex()
        return msgspec.structs.replace(checkpoint, key=self.id, signature=signature)

    def vouch(self, text: bytes) -> str:
        """The signature of the key in use under another text."""
        return self._key.sign(text).hex()

    def rotate(self, upto: Mapping[str, int]) -> None:
        """A new key from now on, endorsed by the one before, which is removed."""
        fresh = Ed25519PrivateKey.generate()
        entry = _entry(fresh, self.id, upto)
        entry = msgspec.structs.replace(entry, endorsement=self._key.sign(endorsed_text(entry)).hex())
        _put(self._folder, fresh, (*self.ring, entry))
        self._key, self.ring = fresh, (*self.ring, entry)

    def _load_ring(self) -> tuple[RingKey, ...]:
        return ring_in(self._folder)

    def _write_ring(self, ring: tuple[RingKey, ...]) -> None:
        self.ring = ring
        write_whole(self._folder / RING, msgspec.json.encode(ring, order="deterministic"))


def begin_anew(folder: Path, upto: Mapping[str, int], *, lost: str) -> str:
    """A new key that nobody endorses, because the one before is lost; its fingerprint."""
    ring = ring_in(folder)
    fresh = Ed25519PrivateKey.generate()
    entry = msgspec.structs.replace(_entry(fresh, ring[-1].id if ring else "", upto), lost=lost)
    _put(folder, fresh, (*ring, entry))
    return entry.id


def _entry(key: Ed25519PrivateKey, replaces: str, upto: Mapping[str, int]) -> RingKey:
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
    return RingKey(id=fingerprint(public), public=public, replaces=replaces, upto=dict(upto))


def _put(folder: Path, key: Ed25519PrivateKey, ring: tuple[RingKey, ...]) -> None:
    """The private key first, under another name: a crash between the two leaves the old pair or the new one to finish."""
    path = folder / KEY
    fresh = folder / f"{KEY}.{ring[-1].id}"
    write_private(fresh, key)
    write_whole(folder / RING, msgspec.json.encode(ring, order="deterministic"))
    fresh.replace(path)


def _fresh(path: Path) -> Ed25519PrivateKey:
    key = Ed25519PrivateKey.generate()
    write_private(path, key)
    return key


def write_private(path: Path, key: Ed25519PrivateKey) -> None:
    """Write a key into a file of its own, for its owner alone. Raises `FileExistsError` and other `OSError`."""
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    # Whole or not at all: half a key on a full disk would be taken for one that was lost.
    write_whole(path, key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()), mode=0o600)
