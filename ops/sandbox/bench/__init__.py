"""Measuring: loads, the decision core in virtual time, loads on a real cluster, and long logs."""
