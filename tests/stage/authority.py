"""An authority of a test's own, and certificates of it for servers on this machine."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = timedelta(hours=2)


class Authority:
    """Issues certificates, as cert-manager does for an installation."""

    def __init__(self, called: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
        own = x509.BasicConstraints(ca=True, path_length=0)
        self._shown = (
            self._begun(self._name, self._key).add_extension(own, critical=True).sign(self._key, hashes.SHA256())
        )

    def issue(self, folder: Path) -> Path:
        """A folder with `tls.crt`, `tls.key` and `ca.crt`, good for whoever serves and whoever calls on this machine."""
        key = ec.generate_private_key(ec.SECP256R1())
        both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        here = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
        named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server")])
        made = self._begun(named, key).add_extension(both, critical=False).add_extension(here, critical=False)
        pem = serialization.Encoding.PEM
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tls.crt").write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(pem))
        unlocked = serialization.NoEncryption()
        (folder / "tls.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, unlocked))
        (folder / "ca.crt").write_bytes(self._shown.public_bytes(pem))
        return folder

    def _begun(self, named: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        begun = x509.CertificateBuilder().subject_name(named).issuer_name(self._name).public_key(key.public_key())
        begun = begun.serial_number(x509.random_serial_number())
        return begun.not_valid_before(now - LIFE).not_valid_after(now + LIFE)
