"""Kubernetes Events: what each says, and how it is written."""
