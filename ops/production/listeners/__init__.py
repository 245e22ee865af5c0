"""Serving over HTTP: to whom, within which limits, with which certificate."""
