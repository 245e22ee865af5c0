"""Whether the CEL library is needed: it is loaded only where device classes are mapped, because it is large."""

from events.settings import SettingsObserved
from projections.claims.counted import counts_claims
from services.watcher.claims.selectors import Selectors


def selectors_for(settings: SettingsObserved | None) -> Selectors | None:
    """What expressions about devices are evaluated by under these settings; None where no claim is counted."""
    return selectors() if settings is not None and counts_claims(settings) else None


def selectors() -> Selectors:
    """What expressions about devices are evaluated by."""
    from ops.production.device_selectors import DeviceSelectors  # noqa: PLC0415 - 50 MB that most have no use for

    return DeviceSelectors()
