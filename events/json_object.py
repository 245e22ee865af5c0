"""Objects of Kubernetes as they come from JSON, before anybody has read them."""

from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]
"""An object that is being made or changed."""
JsonMapping = Mapping[str, Any]
"""An object that is only read."""
