"""Queues: pending workloads and their order, when a refused workload is tried again, and the status of queues."""
