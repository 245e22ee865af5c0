"""Where spans go: to a collector by OTLP over HTTP, if the environment names one in OpenTelemetry's variables; else nowhere."""

from collections.abc import Mapping
from importlib.metadata import version

import structlog
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

log = structlog.get_logger()

_PROTOCOL = "http/protobuf"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTER, _DISABLED = "OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED"


class ExporterUnknown(Exception):
    """The environment asks for an exporter that kuelog does not have."""

    def __init__(self, *, variable: str, value: str, instead: str) -> None:
        super().__init__(f"{variable}={value}: traces are exported by OTLP over HTTP only; write {instead}")


class ChosenIds(RandomIdGenerator):
    """Ids by chance, but for a span whose ids are chosen right before it begins."""

    def __init__(self) -> None:
        self._trace = self._span = 0

    def choose(self, trace: int, span: int) -> None:
        """The ids of the next span, which has no parent."""
        self._trace, self._span = trace, span

    def generate_trace_id(self) -> int:
        """The chosen one, once."""
        found, self._trace = self._trace, 0
        return found or super().generate_trace_id()

    def generate_span_id(self) -> int:
        """The chosen one, once."""
        found, self._span = self._span, 0
        return found or super().generate_span_id()


def exports(environment: Mapping[str, str]) -> bool:
    """Whether spans are exported: where an endpoint is named, or `otlp` without one. Raises `ExporterUnknown`."""
    exporter = environment.get(_EXPORTER, "")
    if environment.get(_DISABLED, "").lower() == "true" or exporter == "none":
        return False
    if exporter not in ("", "otlp"):
        raise ExporterUnknown(variable=_EXPORTER, value=exporter, instead="otlp or none")
    asked = exporter == "otlp" or any(environment.get(one) for one in _ENDPOINTS)
    for variable in _PROTOCOLS if asked else ():
        if environment.get(variable, _PROTOCOL) not in ("", _PROTOCOL):
            raise ExporterUnknown(variable=variable, value=environment[variable], instead=_PROTOCOL)
    return asked


def silent_provider() -> TracerProvider:
    """Spans with ids, which the log keeps, and with nothing else."""
    # Nothing of the environment is read for what nobody exports.
    unset = SpanLimits.UNSET
    limits = SpanLimits(unset, unset, unset, unset, unset, unset, unset, unset)
    return TracerProvider(sampler=ALWAYS_OFF, span_limits=limits, shutdown_on_exit=False)


def exporting_provider(ids: ChosenIds, service: str, replica: str) -> TracerProvider | None:
    """Spans that are exported in the background; None, with a line in the log, where a variable of the environment means nothing."""
    try:
        return _exporting(ids, service, replica)
    except (ValueError, OSError) as problem:
        log.warning("spans are not exported: correct the variable of OpenTelemetry and restart", problem=str(problem))
        return None


def _exporting(ids: ChosenIds, service: str, replica: str) -> TracerProvider:
    # Only who exports pays for these: 12 MB and a quarter of a second.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    ours = {"service.name": service, "service.version": version("kuelog"), "service.instance.id": replica}
    provider = TracerProvider(
        resource=Resource.create(ours).merge(OTELResourceDetector().detect()),
        id_generator=ids,
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
