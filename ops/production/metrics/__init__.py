"""Figures for Prometheus: cards, and what somebody has to act on."""
