"""The version of the rules by which this code decides."""

RULES = "48"
"""Every commit names it; a replay decides anew what was recorded under another version, where that is possible."""
