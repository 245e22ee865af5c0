"""Shares of queues and cohorts in exact numbers, and the past usage that admission fair sharing goes by."""
