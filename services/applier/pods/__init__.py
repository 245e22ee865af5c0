"""What is written on pods: gates opened, ends, finalizers."""
