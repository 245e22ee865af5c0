"""Whole platforms in virtual time on one thread, decided by a seed: faults of every kind, and the laws that hold after."""
