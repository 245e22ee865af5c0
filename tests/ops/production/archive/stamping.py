"""A small server of time stamps (RFC 3161): its certificates are made here, its answers by OpenSSL."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.stage.ports import reserved_port

_CONFIG = """
[tsa]
serial = {folder}/serial
default_policy = 1.2.3.4.1
digests = sha256
signer_digest = sha256
accuracy = secs:1
ess_cert_id_alg = sha256
"""


class StampServer:
    """Stamps what it is asked for, while it is not told to refuse."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("no openssl, which answers as a server of time stamps")
        folder.mkdir(parents=True, exist_ok=True)
        self.root, self._folder = folder / "root.pem", folder
        self.refuses = False
        self.in_pieces = False
        self.asked = 0
        root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        root = _certificate("root of stamps", "root of stamps", root_key, root_key, ca=True)
        own = _certificate("a server of stamps", "root of stamps", key, root_key, ca=False)
        self.root.write_bytes(root.public_bytes(Encoding.PEM))
        (folder / "own.pem").write_bytes(own.public_bytes(Encoding.PEM))
        plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / "own.key").write_bytes(plain)
        (folder / "tsa.conf").write_text(_CONFIG.format(folder=folder))
        (folder / "serial").write_text("01\n")

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[str, None]:
        """Its address, while it serves."""
        app, port = web.Application(), reserved_port()
        app.router.add_post("/", self._answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if self.refuses:
            return web.Response(status=503)
        (self._folder / "query.tsq").write_bytes(await request.read())
        words = ["openssl", "ts", "-reply", "-config", "tsa.conf", "-section", "tsa", "-queryfile", "query.tsq"]
        words += ["-signer", "own.pem", "-inkey", "own.key", "-out", "answer.tsr"]
        await asyncio.to_thread(subprocess.run, words, cwd=self._folder, check=True, capture_output=True)
        answer = (self._folder / "answer.tsr").read_bytes()
        if not self.in_pieces:
            return web.Response(body=answer, content_type="application/timestamp-reply")
        slow = web.StreamResponse()
        await slow.prepare(request)
        for piece in (answer[:100], answer[100:]):
            await slow.write(piece)
            await asyncio.sleep(0.05)
        return slow


def _certificate(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey, *, ca: bool
) -> x509.Certificate:
    now = datetime.now(UTC)
    named, issued = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in (name, issuer))
    builder = (
        x509.CertificateBuilder()
        .subject_name(named)
        .issuer_name(issued)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if not ca:
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
        builder = builder.add_extension(usage, critical=True)
    return builder.sign(signer, SHA256())
