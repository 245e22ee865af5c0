"""Workload objects as facts, and what was last reported of each workload."""
