"""What services tell of faults was ordered: nobody reads it."""

from collections.abc import Iterator

import pytest
import structlog

from ops.production.process.telemetry import configure_logging


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Only what is critical is told."""
    configure_logging("critical")
    yield
    structlog.reset_defaults()
