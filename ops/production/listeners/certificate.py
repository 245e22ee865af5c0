"""The certificate that a server shows and the authorities of clients that it believes; both may change while it serves."""

import asyncio
import ssl
import tempfile
from pathlib import Path

import structlog
from cryptography import x509

from events.event import Millis
from events.timestamp import format_timestamp

log = structlog.get_logger()


class Certificate:
    """What is shown to whoever connects; a new one counts from the next connection on.

    With `asks_clients` a client may prove itself by a certificate of the authorities that are believed; one of anybody else's
    ends the connection. Whether it has to is for the application to say: probes come without.
    """

    def __init__(self, *, asks_clients: bool = False) -> None:
        self._asks = asks_clients
        self.context = self._fresh()
        # Changed settings of a context would not take an old authority away: each change makes a context of its own.
        self.context.sni_callback = self._switch
        self.shown = asyncio.Event()
        self.ends: Millis = 0
        """When the one that is shown expires; 0 while there is none, or when that can't be read in it."""
        self.unread = ""
        """Why the one that should be shown now can't be had; empty while it can."""
        self._current = self.context
        self._shown, self._believed = ("", ""), ""

    def stand_in(self, certificate: str, key: str) -> None:
        """Show this one, which nobody believes, until there is one to show: probes believe any, and without one nobody is answered."""
        if not self.shown.is_set():
            self._renew(certificate, key, self._believed)

    def show(self, certificate: str, key: str) -> None:
        """Show this certificate from now on. Raises `ssl.SSLError` when the key is not its own."""
        if (certificate, key) != self._shown:
            self._renew(certificate, key, self._believed)
            self.ends = _end_of(certificate)
            self.shown.set()
            log.info("certificate shown", until=format_timestamp(self.ends))
        self.unread = ""

    def why_not(self, now: Millis) -> str:
        """Why nobody believes what is shown; empty while it is good."""
        if not self.shown.is_set():
            return f"there is no certificate yet: {self.unread or 'it has not been read'}"
        if 0 < self.ends <= now:
            return f"the certificate has expired at {format_timestamp(self.ends)}: {self.unread or 'nobody has renewed it'}"
        return ""

    def worth_knowing(self) -> list[str]:
        """What keeps nobody from being answered yet."""
        if not self.unread or not self.shown.is_set():
            return []
        return [
            f"the one before is shown until {format_timestamp(self.ends)}, for no newer certificate can be had: {self.unread}"
        ]

    def believe(self, authorities: str) -> None:
        """Believe only certificates of clients that these have signed, in PEM. Raises `ssl.SSLError`."""
        if authorities != self._believed:
            self._renew(*self._shown, authorities)
            log.info("authorities of clients believed")

    def _renew(self, certificate: str, key: str, authorities: str) -> None:
        fresh = self._fresh()
        if certificate:
            # The ssl module reads keys from files only; nobody else may read this one, and it is gone at once.
            with tempfile.TemporaryDirectory() as folder:
                files = Path(folder) / "tls.crt", Path(folder) / "tls.key"
                files[1].touch(mode=0o600)
                files[0].write_text(certificate)
                files[1].write_text(key)
                fresh.load_cert_chain(*files)
        if self._asks and authorities:
            fresh.load_verify_locations(cadata=authorities)
        self._current, self._shown, self._believed = fresh, (certificate, key), authorities

    def _switch(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        del name, context
        connection.context = self._current

    def _fresh(self) -> ssl.SSLContext:
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        found.minimum_version = ssl.TLSVersion.TLSv1_2
        if self._asks:
            found.verify_mode = ssl.CERT_OPTIONAL
            # A session that is resumed would not be asked again for its certificate.
            found.options |= ssl.OP_NO_TICKET
            found.num_tickets = 0
        return found


def _end_of(certificate: str) -> Millis:
    try:
        return int(x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc.timestamp() * 1000)
    except ValueError:
        # OpenSSL, which has taken it, is less strict.
        return 0
