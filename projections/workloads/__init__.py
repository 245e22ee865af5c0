"""The life of a workload: what it asks for, its conditions, deadlines and moments, folded from events."""
