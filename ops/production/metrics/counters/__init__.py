"""Kueue's counters and histograms, in step with the log"""
