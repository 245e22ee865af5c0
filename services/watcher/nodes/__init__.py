"""Nodes as facts, and what pods hold of them."""
