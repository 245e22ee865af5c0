"""Time stamps of RFC 3161: somebody else's signature that certain bytes were there at a certain time."""

import asyncio
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import msgspec
from cryptography.x509 import Certificate, InvalidVersion, load_der_x509_certificate, load_pem_x509_certificates
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    TimeStampResponse,
    VerificationError,
    VerifierBuilder,
    decode_timestamp_response,
)

from events.event import Millis
from ops.production.archive.errors import StampRefused

_PATIENCE_S = 20.0
_OK = 200
_MOST = 1 << 20
"""No answer of such a server is longer."""
_MALFORMED = (ValueError, RuntimeError, KeyError, TypeError, OverflowError, InvalidVersion)
"""What reading ASN.1 that is none raises, wherever it is come to."""


class Stamped(msgspec.Struct, frozen=True, kw_only=True):
    """What a time stamp says."""

    at: Millis
    by: str
    """The subject of the certificate that signed it."""


async def stamp(url: str, data: bytes) -> str:
    """Have a server stamp these bytes, of which it is shown the hash alone; its answer in base64. Raises `StampRefused`."""
    request = TimestampRequestBuilder(data=data, hash_algorithm=HashAlgorithm.SHA256).build()
    headers = {"Content-Type": "application/timestamp-query"}
    try:
        async with (
            asyncio.timeout(_PATIENCE_S),
            aiohttp.ClientSession() as session,
            session.post(url, data=request.as_bytes(), headers=headers) as answer,
        ):
            raw, status = await _whole(answer), answer.status
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as problem:
        raise StampRefused(f"it does not answer: {str(problem) or type(problem).__name__}") from problem
    if status != _OK:
        raise StampRefused(f"it answers with {status}")
    response = _decoded(raw)
    try:
        said = response.tst_info.message_imprint.message, response.tst_info.nonce
    except _MALFORMED as problem:
        raise StampRefused(f"its answer is no time stamp: {problem}") from problem
    if said != (hashlib.sha256(data).digest(), request.nonce):
        raise StampRefused("its answer is about something else")
    return b64encode(raw).decode()


def stamped(token: str) -> Stamped:
    """What a time stamp says, whether it counts or not. Raises `StampRefused`."""
    try:
        response = _decoded(b64decode(token, validate=True))
        found = [load_der_x509_certificate(one) for one in response.signed_data.certificates]
        signers = list(response.signed_data.signer_infos)
        names = [
            one.subject.rfc4514_string()
            for one in found
            if any((one.issuer, one.serial_number) == (info.issuer, info.serial_number) for info in signers)
        ]
        at = int(response.tst_info.gen_time.timestamp() * 1000)
    except _MALFORMED as problem:
        raise StampRefused(f"it can't be read: {problem}") from problem
    return Stamped(at=at, by=names[0] if names else "an unnamed server")


def check_stamp(token: str, data: bytes, roots: Sequence[Certificate]) -> Stamped:
    """Hold a time stamp against the bytes and against the certificates that are trusted. Raises `StampRefused`."""
    says = stamped(token)
    try:
        # Roots alone: whatever is named as an intermediate one counts as trusted there, and what leads to a root came with the answer.
        VerifierBuilder(roots=list(roots)).build().verify_message(_decoded(b64decode(token)), data)
    except (VerificationError, *_MALFORMED) as problem:
        raise StampRefused(f"the time stamp of {says.by} does not hold: {problem}") from problem
    return says


def roots_in(files: Sequence[Path]) -> list[Certificate]:
    """The certificates of these files. Raises `StampRefused`."""
    found: list[Certificate] = []
    for file in files:
        try:
            found.extend(load_pem_x509_certificates(file.read_bytes()))
        except (OSError, ValueError) as problem:
            raise StampRefused(f"{file} holds no certificates in PEM: {problem}") from problem
    return found


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    """All of an answer, in however many pieces it comes."""
    raw = b""
    async for piece in answer.content.iter_any():
        raw += piece
        if len(raw) > _MOST:
            raise StampRefused(f"its answer is longer than {_MOST >> 20} MiB")
    return raw


def _decoded(raw: bytes) -> TimeStampResponse:
    try:
        response = decode_timestamp_response(raw)
        if not response.signed_data.certificates:
            raise StampRefused("its answer has no certificate")
    except _MALFORMED as problem:
        raise StampRefused(f"its answer is no time stamp: {problem}") from problem
    return response
