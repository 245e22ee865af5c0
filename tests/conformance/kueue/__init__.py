"""Recorded cases of Kueue."""
