"""Whole platforms of real processes under faults that a seed decides, held against the laws of the simulation."""
