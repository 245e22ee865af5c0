"""Kueue and a real control plane, built from their Go modules, to test and to measure beside."""
