"""Budgets: what queues and namespaces have held in a period, and whether a budget is used up."""
