"""Questions to the log: where on it, what stood there, what is different."""
