"""Whether devices that claims hold are counted at all, and as which resource of quota those of a class are.

Rule: docs/rules/claims.md#mappings
"""

from events.settings import SettingsObserved
from projections.feature_gates import enabled


def counts_claims(settings: SettingsObserved) -> bool:
    """Whether claims are counted under these settings."""
    return bool(settings.device_class_mappings) and enabled(settings, "KueueDRAIntegration")


def resource_of_class(settings: SettingsObserved, device_class: str) -> str:
    """The resource of the first mapping that names a class; empty where none does."""
    return next((one.resource for one in settings.device_class_mappings if device_class in one.classes), "")
