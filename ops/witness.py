"""The head witness: what the end of each stream was, signed and kept outside the bus.

One flipped bit can make a stored stream lose its tail silently, with a valid chain and reused sequences
(log-engineering §0.6). Whoever starts, and every so often while it runs, compares the log with what was witnessed.
"""

import hashlib
import os
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from services.log_errors import LogGap, LogRegressed
from services.log_port import Stream


class WitnessedHead(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a stream as it once was."""

    sequence: int
    sha256: str
    signature: str = ""


class WitnessKeyMissing(Exception):
    """The witness is signed by a key that is not there any more, or by another one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"the head witness in {folder} was not signed by {folder / 'witness.key'}: restore the key, or remove "
            "heads.json after checking the log by hand"
        )


class HeadWitness:
    """Signed heads in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._key = self._load_key()
        self._heads = self._load_heads()

    def seen(self, stream: str) -> WitnessedHead | None:
        """What was witnessed of a stream."""
        return self._heads.get(stream)

    def forget(self, stream: str) -> bool:
        """Accept that a stream is not what it was: it is witnessed anew from now on."""
        known = self._heads.pop(stream, None)
        self._write()
        return known is not None

    async def check(self, stream: Stream) -> None:
        """Compare a stream with what was witnessed. Raises `LogRegressed`."""
        head = self._heads.get(stream.name)
        if head is None:
            return
        last = await stream.last()
        if last.sequence < head.sequence:
            raise LogRegressed(
                stream=stream.name, witnessed=head.sequence, found=last.sequence, problem="has lost its tail"
            )
        try:
            entry = await stream.get(head.sequence)
        except LogGap as gap:
            raise LogRegressed(
                stream=stream.name, witnessed=head.sequence, found=gap.found, problem="has lost a message"
            ) from gap
        if hashlib.sha256(entry.data).hexdigest() != head.sha256:
            raise LogRegressed(
                stream=stream.name,
                witnessed=head.sequence,
                found=last.sequence,
                problem=f"holds another message at sequence {head.sequence} than it once did",
            )

    async def witness(self, stream: Stream) -> None:
        """Take note of the end of a stream."""
        last = await stream.last()
        if last.sequence == 0:
            return
        head = WitnessedHead(sequence=last.sequence, sha256=last.sha256)
        signature = self._key.sign(_signed(stream.name, head)).hex()
        self._heads[stream.name] = WitnessedHead(sequence=head.sequence, sha256=head.sha256, signature=signature)
        self._write()

    def _write(self) -> None:
        fresh = self._folder / "heads.new"
        fresh.write_bytes(msgspec.json.encode(self._heads, order="deterministic"))
        fresh.replace(self._folder / "heads.json")

    def _load_key(self) -> Ed25519PrivateKey:
        path = self._folder / "witness.key"
        if path.exists():
            return Ed25519PrivateKey.from_private_bytes(path.read_bytes())
        if (self._folder / "heads.json").exists():
            raise WitnessKeyMissing(self._folder)
        key = Ed25519PrivateKey.generate()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))
        return key

    def _load_heads(self) -> dict[str, WitnessedHead]:
        path = self._folder / "heads.json"
        if not path.exists():
            return {}
        heads = msgspec.json.decode(path.read_bytes(), type=dict[str, WitnessedHead])
        for stream, head in heads.items():
            try:
                self._key.public_key().verify(bytes.fromhex(head.signature), _signed(stream, head))
            except (InvalidSignature, ValueError) as problem:
                raise WitnessKeyMissing(self._folder) from problem
        return heads


def _signed(stream: str, head: WitnessedHead) -> bytes:
    return f"{stream}\n{head.sequence}\n{head.sha256}".encode()
