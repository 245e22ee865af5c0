"""Scenarios: manifests and steps that are played on the embedded cluster, and what has to hold in the end."""
