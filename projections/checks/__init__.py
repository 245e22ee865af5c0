"""Admission checks: which are required, and nodes that a cluster autoscaler is asked for."""
