"""Figures for Prometheus: queues, cards, and what somebody has to act on."""
