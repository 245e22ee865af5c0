"""Kueue's own integration suites, with kuelog in the place of its controllers."""
