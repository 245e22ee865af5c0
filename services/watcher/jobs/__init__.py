"""Jobs as facts: what they request, whose they are, and how they stand."""
