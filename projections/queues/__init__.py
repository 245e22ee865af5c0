"""The queues: who waits and in what order, where a workload is tried again, and how queues stand."""
