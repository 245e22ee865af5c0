"""Lint: mistakes in manifests, named with file and line."""
