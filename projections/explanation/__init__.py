"""Explanations in numbers: why a workload is pending or was preempted, why decisions differ, what would change it."""
