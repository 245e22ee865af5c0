"""Kueue's visibility API: who waits for a queue at which position."""
