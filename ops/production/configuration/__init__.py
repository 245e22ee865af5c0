"""The configuration file, in Kueue's own format."""
