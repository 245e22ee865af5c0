"""Preemption: candidates, the search for victims, and what protects a workload from it."""
