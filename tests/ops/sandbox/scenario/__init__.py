"""Scenarios, and the nodes that they are played on."""
