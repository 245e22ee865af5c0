"""Where tests find recorded cases and scenarios that are not part of the project."""

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
CONFORMANCE = Path(os.environ.get("KUELOG_CONFORMANCE", SHARED / "conformance"))
"""Cases that were recorded of Kueue and HAMi."""
SCENARIOS = Path(os.environ.get("KUELOG_SCENARIOS", SHARED / "scenarios"))
KUEUE_DEFINITIONS = Path(os.environ.get("KUELOG_KUEUE_DEFINITIONS", SHARED / "kueue-crds"))
"""Kueue's own CustomResourceDefinitions."""
