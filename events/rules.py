"""The version of the rules by which this code decides."""

RULES = "6"
"""Every commit names it; what was recorded under another version is decided anew where that is possible."""
