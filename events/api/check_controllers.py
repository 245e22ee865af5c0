"""The controllers of the checks that kuelog answers under Kueue's names."""

PROVISIONING = "kueue.x-k8s.io/provisioning-request"
"""Asks a cluster autoscaler for nodes."""
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
"""Has workloads run on other clusters."""
