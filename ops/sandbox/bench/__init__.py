"""Measuring: loads, the decision core in virtual time, and what is told of it."""
