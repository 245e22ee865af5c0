"""Workloads that run on other clusters: which are nominated, which one is chosen, and what has to be there."""
