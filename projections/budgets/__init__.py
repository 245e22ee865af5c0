"""Budgets: what queues and namespaces have held in a period, and whether that is all there was."""
