"""The audit: what was once on the log, provable to people who trust nobody here."""
