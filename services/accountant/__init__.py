"""The accountant: which cards a workload gets, and when they are free again."""
