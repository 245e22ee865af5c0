"""Statuses of queues and cohorts, and finalizers of objects in use."""
