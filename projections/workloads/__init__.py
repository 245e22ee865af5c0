"""The record of a workload: what it asks for, its conditions, deadlines and moments."""
