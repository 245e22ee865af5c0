"""Pods without a job, their groups and the serving objects that own them, each group as one workload."""
