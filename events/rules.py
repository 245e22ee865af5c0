"""The version of the rules by which this code decides."""

RULES = "8"
"""Every commit names it; what was recorded under another version is decided anew where that is possible."""
