"""Kubernetes through the official client: configuration, TLS and writes; lists and watches on the raw stream."""
