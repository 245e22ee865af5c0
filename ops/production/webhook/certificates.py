"""The webhooks' own authority and certificate, and when a new one of either is due.

An authority is made long before the old one ends, and both are believed for a while: the certificate in use is only
replaced once the new authority was published to all clients.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from events.event import Millis

AUTHORITY_LIFE = timedelta(days=365)
CERTIFICATE_LIFE = timedelta(days=90)
SETTLED = timedelta(minutes=10)
"""How long a new authority is only published, before a certificate of it is shown."""
_EARLIER = timedelta(minutes=5)
"""Clocks differ: what is made now is good from a little before."""
_NAME = "kuelog-webhook-authority"
_CURVE = ec.SECP256R1


class HeldCertificates(msgspec.Struct, frozen=True, kw_only=True):
    """What the Secret holds, all of it PEM."""

    authorities: str
    """The newest first; the others are believed until they end."""
    authority_key: str
    certificate: str
    key: str


def renewed(held: HeldCertificates | None, names: Sequence[str], now: Millis) -> HeldCertificates | None:
    """What is to be held instead; None while all is well."""
    at = datetime.fromtimestamp(now / 1000, UTC)
    if held is None or not _readable(held):
        authority, key = _authority(at)
        return _with_certificate(authority, "", key, names, at)
    newest, *older = x509.load_pem_x509_certificates(held.authorities.encode())
    alive = "".join(_text(one) for one in older if one.not_valid_after_utc > at)
    key = _key_of(held.authority_key)
    if newest.not_valid_after_utc <= at:
        authority, key = _authority(at)
        return _with_certificate(authority, "", key, names, at)
    if _is_late(newest, at):
        authority, key = _authority(at)
        return HeldCertificates(
            authorities=_text(authority) + _text(newest) + alive,
            authority_key=_key_text(key),
            certificate=held.certificate,
            key=held.key,
        )
    current = x509.load_pem_x509_certificate(held.certificate.encode())
    settled = not older or newest.not_valid_before_utc + _EARLIER + SETTLED <= at
    due = _is_late(current, at) or current.issuer != newest.subject or _names_of(current) != tuple(names)
    if due and (settled or current.not_valid_after_utc <= at):
        return _with_certificate(newest, alive, key, names, at)
    return None


def _readable(held: HeldCertificates) -> bool:
    try:
        x509.load_pem_x509_certificates(held.authorities.encode())
        certificate = x509.load_pem_x509_certificate(held.certificate.encode())
        _key_of(held.authority_key)
        return certificate.public_key() == _key_of(held.key).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # A key that is locked by a password is a TypeError.
        return False


def _is_late(one: x509.Certificate, at: datetime) -> bool:
    """Whether two thirds of its life are over."""
    return at >= one.not_valid_before_utc + (one.not_valid_after_utc - one.not_valid_before_utc) * 2 / 3


def _authority(at: datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(_CURVE())
    # The serial number is part of the name: a certificate then says which of several authorities has issued it.
    serial = x509.random_serial_number()
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, _NAME),
            x509.NameAttribute(NameOID.SERIAL_NUMBER, f"{serial:x}"),
        ]
    )
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(at - _EARLIER)
        .not_valid_after(at + AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return made, key


def _with_certificate(
    authority: x509.Certificate,
    older: str,
    authority_key: ec.EllipticCurvePrivateKey,
    names: Sequence[str],
    at: datetime,
) -> HeldCertificates:
    key = ec.generate_private_key(_CURVE())
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - _EARLIER)
        .not_valid_after(min(at + CERTIFICATE_LIFE, authority.not_valid_after_utc))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )
    return HeldCertificates(
        authorities=_text(authority) + older,
        authority_key=_key_text(authority_key),
        certificate=_text(made),
        key=_key_text(key),
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _names_of(one: x509.Certificate) -> tuple[str, ...]:
    found = one.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return tuple(found.get_values_for_type(x509.DNSName))


def _text(one: x509.Certificate) -> str:
    return one.public_bytes(serialization.Encoding.PEM).decode()


def _key_text(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def _key_of(text: str) -> ec.EllipticCurvePrivateKey:
    """A key of ours. Raises `ValueError` for any other."""
    found = serialization.load_pem_private_key(text.encode(), password=None)
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise ValueError("not a key on an elliptic curve")
    return found
