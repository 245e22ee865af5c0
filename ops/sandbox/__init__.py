"""A cluster to try things on: embedded, scripted, simulated, measured. No service imports it."""
