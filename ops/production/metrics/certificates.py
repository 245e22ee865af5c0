"""How long the certificate of a server counts, and whether a newer one could be had."""

from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from ops.production.listeners.certificate import Certificate
from ops.production.metrics.families import gauge, in_seconds


class CertificateMetrics(Collector):
    """Of the certificate that one service shows."""

    def __init__(self, certificate: Certificate, service: str) -> None:
        self._certificate, self._service = certificate, service

    def collect(self) -> Iterator[Metric]:
        """Both."""
        of = (self._service,)
        yield gauge("kuelog_certificate_expires_timestamp_seconds", [(of, in_seconds(self._certificate.ends))])
        yield gauge("kuelog_certificate_not_renewed", [(of, float(bool(self._certificate.unread)))])
