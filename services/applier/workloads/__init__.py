"""What is written on Workload objects: manifest, status by field manager, finalizer."""
