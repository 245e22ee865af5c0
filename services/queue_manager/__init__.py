"""The queue manager: which workloads are queued, parked or evicted, and when their quota is released."""
