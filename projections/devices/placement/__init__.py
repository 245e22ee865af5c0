"""Nodes and cards for all pods of a workload, all or nothing, and why there are none."""
